"""Names of MediaWiki's templates, tags, namespaces and wikis: names.json."""

import json
import pathlib
from typing import Any

_FILE = pathlib.Path(__file__).with_name('names.json')
NAMES: dict[str, Any] = json.loads(_FILE.read_text('utf-8'))


def split(lists: str | list[str]) -> list[str]:
  """Splits names at commas, in a string or in several."""
  text = lists if isinstance(lists, str) else ','.join(lists)
  return [name.strip() for name in text.split(',')]


def inverse(section: str) -> dict[str, str]:
  """Returns {name: displayed text} of a section {displayed text: names}."""
  return {
    name: shown
    for shown, names in NAMES[section].items()
    for name in split(names)
  }


_INVISIBLE = frozenset(split(NAMES['templates'].pop('invisible')))
_BEGINNINGS = tuple(split(NAMES['invisible beginnings']))
_ENDINGS = (
  *split(NAMES['invisible endings']),
  *(f' {word}' for word in split(NAMES['invisible last words'])),
)


def is_invisible(template: str) -> bool:
  """Returns whether a template shows no word of a sentence: a note or a box."""
  return (
    template in _INVISIBLE
    or template.startswith(_BEGINNINGS)
    or template.endswith(_ENDINGS)
  )
