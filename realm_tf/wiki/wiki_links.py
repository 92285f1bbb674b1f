"""Returns the words of a wikitext link that a reader sees."""

import re

from realm_tf.wiki import names
from realm_tf.wiki.names import NAMES

_BAR = '\ue002'  # Stands for the template {{!}}.
_NAMESPACES, _LANGUAGES, _OTHER_WIKIS = (
  frozenset(names.split(NAMES['links'][kind]))
  for kind in ('files and categories', 'languages', 'other wikis')
)
_FILE = re.compile(
  r'[^:\n]+:[^\n]+\.(djvu|flac|gif|jpe?g|mid|mp3|og[agv]|pdf|png|stl|svg|tiff?|'
  r'wav|webm|webp|xcf)\s*$',
  re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r'\s*\([^()]*\)$')


def words(parts: list[str]) -> str:
  """Returns the words of '[[title|words]]', given its parts between bars."""
  if len(parts) == 1 and _BAR in parts[0]:
    parts = parts[0].split(_BAR)
  title = parts[0].strip().replace('_', ' ')
  name = title.lstrip(': ')
  prefix, _, rest = name.partition(':')
  prefix = prefix.strip()
  text = ' '.join(part for part in parts[1:] if part)
  if rest:
    if _is_hidden(name):
      return text if title[0] == ':' else ''
    # '[[de:Bern]]' links another language's page and shows nothing.
    if prefix.lower() in _LANGUAGES and not (
      prefix[0].isupper() and rest[0] == ' '  # '[[It: Chapter Two]]'.
    ):
      return (text or rest) if title[0] == ':' else ''
    if prefix.lower() in _OTHER_WIKIS:
      # A link may have several prefixes: '[[:w:de:Bern]]'.
      return text or rest.rpartition(':')[2]
  if len(parts) > 1:
    return text or _IN_BRACKETS.sub('', name)
  return name


def unclosed(parts: list[str]) -> str:
  """Returns the words of a link without an end; drops the line of a file."""
  if _is_hidden(parts[0]):
    _, newline, rest = ' '.join(parts).partition('\n')
    return newline + rest
  return ' '.join(parts[1:] or parts)


def _is_hidden(title: str) -> bool:
  prefix = title.partition(':')[0].strip(' :_').lower()
  return prefix in _NAMESPACES or bool(_FILE.match(title.lstrip(': ')))
