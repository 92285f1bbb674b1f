"""Parses a template of a page into its name and its arguments."""

import re
from typing import NamedTuple

_SPACES = re.compile(r'[\s_\u200e]+')
_PREFIX = re.compile(r'(template|subst|safesubst|vorlage|msg)\s*:\s*')


class Call(NamedTuple):
  """A template with a normal name and with stripped arguments in plain text."""

  name: str
  unnamed: list[str]
  named: dict[str, str]

  def first(self, *positions: int) -> str:
    """Returns the first argument at `positions` that is not empty, else ''."""
    for position in positions:
      if position < len(self.unnamed) and self.unnamed[position]:
        return self.unnamed[position]
    return ''

  def joined(self, mark: str) -> str:
    """Joins the unnamed arguments that are not empty."""
    return mark.join(filter(None, self.unnamed))


def normal(name: str) -> str:
  """Returns a template's name in lower case, without prefix."""
  name = _SPACES.sub(' ', name).strip().lower()
  return _PREFIX.sub('', name, count=1) if ':' in name else name


def parse(parts: list[str]) -> Call:
  """Parses a template, given its parts between bars."""
  unnamed: list[str] = []
  named = {}
  for part in parts[1:]:
    key, equals, value = part.partition('=')
    key = key.strip()
    if not equals:
      unnamed.append(part.strip())
    elif key.isdecimal() and len(key) <= 2 and key != '0':
      unnamed += [''] * (int(key) - len(unnamed))
      unnamed[int(key) - 1] = value.strip()
    else:
      named[key.lower()] = value.strip()
  return Call(normal(parts[0]), unnamed, named)
