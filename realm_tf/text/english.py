"""English words for the rules of sentences, dates and names: english.json."""

import json
import pathlib

_FILE = pathlib.Path(__file__).with_name('english.json')
_LISTS: dict[str, str | list[str]] = json.loads(_FILE.read_text('utf-8'))
WORDS = {
  name: (words if isinstance(words, str) else ' '.join(words)).split()
  for name, words in _LISTS.items()
}


def one_of(name: str) -> str:
  """Returns a regular expression for one of the words of a list."""
  return f'(?:{"|".join(WORDS[name])})'
