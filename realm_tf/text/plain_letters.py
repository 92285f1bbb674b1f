"""Writes text with one character for each letter, as taggers' rules need it.

Accents join their letters; other marks and invisible characters, such as soft
hyphens and zero-width joiners, go; special spaces and hyphens become plain.
"""

from collections.abc import Iterable, Sequence
import functools
import re
from typing import NamedTuple, Optional
import unicodedata

_SPACES = '\xa0\u2000-\u200a\u202f\u205f\u3000'
_HYPHENS = '\u2010\u2011'
_SPACE_OR_HYPHEN = re.compile(f'([{_SPACES}])|[{_HYPHENS}]')
_MARKS = frozenset({'Mn', 'Mc', 'Me', 'Cf'})
_LONGEST_CLUSTER = 32  # Composing a letter and n marks takes n^2 steps.


class Plain(NamedTuple):
  """A text that is written plainly.

  Attributes:
    places: The original's character of each plain one, and its length; None if
      they are the same. What was left out belongs to the character before it.
  """

  text: str
  places: Optional[Sequence[int]]

  def original(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Converts spans of plain characters to spans of the original's."""
    if self.places is None:
      return list(spans)
    return [(self.places[start], self.places[end]) for start, end in spans]


def write(text: str) -> Plain:
  """Writes `text` plainly."""
  if text.isascii():
    return Plain(text, None)
  special, cluster = _patterns()
  if not special.search(text):
    return Plain(text, None)
  text = _SPACE_OR_HYPHEN.sub(lambda found: ' ' if found[1] else '-', text)
  parts: list[str] = []
  places: list[int] = []
  end = 0
  for match in cluster.finditer(text):
    start, stop = match.span()
    letter = _composed(match)
    parts += [text[end:start], letter]
    places += range(end, start + len(letter))
    end = stop
  places += range(end, len(text) + 1)
  return Plain(''.join([*parts, text[end:]]), places)


def _composed(cluster: re.Match) -> str:
  """Returns a letter with the accents that join it; '' for lone marks."""
  letter = cluster[1]
  if letter and len(cluster[0]) <= _LONGEST_CLUSTER:
    return unicodedata.normalize('NFC', cluster[0])[0]
  return letter


@functools.cache
def _patterns() -> tuple[re.Pattern, re.Pattern]:
  """Returns patterns of what is not plain, and of a character and its marks."""
  # Classes of characters beyond 0xFFFF would be a hundred times slower.
  every = map(chr, range(0x10000))
  marks = ''.join(c for c in every if unicodedata.category(c) in _MARKS)
  return (
    re.compile(f'[{_SPACES}{_HYPHENS}{marks}]'),
    re.compile(f'([^{marks}]?)[{marks}]+', re.DOTALL),
  )
