"""BERT's basic tokenization by character: '東' -> ' 東 ', a word by itself.

characters.json has the tables of Hugging Face's tokenizers 0.22: Unicode 8, and
17 for lower case. Python's own tables differ between its versions.
"""

import bisect
from collections.abc import Iterator
import dataclasses
import functools
import json
import pathlib
import unicodedata

NUM_CHARACTERS = 0x110000
_TABLES = json.loads(
  pathlib.Path(__file__).with_name('characters.json').read_text()
)


def _bounds(ranges: str | list[str]) -> tuple[int, ...]:
  """Parses hexadecimal 'first-last ...' to (first, last + 1, ...)."""
  text = ranges if isinstance(ranges, str) else ' '.join(ranges)
  pairs = (part.partition('-') for part in text.split())
  return tuple(
    bound
    for first, _, last in pairs
    for bound in (int(first, 16), int(last or first, 16) + 1)
  )


def codes(bounds: tuple[int, ...]) -> Iterator[int]:
  """Yields the codes of all characters within `bounds`."""
  for first, stop in zip(bounds[::2], bounds[1::2], strict=True):
    yield from range(first, stop)


def _characters(ranges: str | list[str]) -> frozenset[str]:
  return frozenset(map(chr, codes(_bounds(ranges))))


def _is_in(bounds: tuple[int, ...], character: str) -> bool:
  return bisect.bisect_right(bounds, ord(character)) % 2 == 1


# Control, format and private characters, and U+FFFD.
DROPPED = _bounds(_TABLES['dropped'])
CHINESE = _bounds(_TABLES['chinese'])
# All characters that may be decomposed or lower-cased.
_CHANGING = _bounds(_TABLES['changing'])
# Categories P*, and ASCII's symbols.
_PUNCTUATION = _characters(_TABLES['punctuation'])
_MARKS = _characters(_TABLES['marks'])  # Accents: category Mn.
_SPACES = _characters(_TABLES['spaces'])
# Characters newer than the table of decompositions.
_WHOLE = _characters(_TABLES['whole'])
# Capital -> small letter, where versions of Python differ.
_NEW_LOWER = {
  capital: chr(ord(capital) + int(distance))
  for distance, capitals in _TABLES['new capitals'].items()
  for capital in _characters(capitals)
}


@dataclasses.dataclass(frozen=True)
class CharacterRules:
  """Rules of a vocabulary, by default BERT's uncased ones.

  Attributes:
    strip_accents: Whether characters are decomposed and lose their accents.
    split_chinese: Whether each Chinese character is a word.
    clean_text: Whether control characters are dropped.
  """

  lowercase: bool = True
  strip_accents: bool = True
  split_chinese: bool = True
  clean_text: bool = True

  def spell(self, character: str) -> str:
    """Returns a character's normalized form, with spaces where words end."""
    if self.clean_text and _is_in(DROPPED, character):
      return ''
    spelled = character
    if self.strip_accents and character not in _WHOLE:
      parts = unicodedata.normalize('NFD', character)
      spelled = ''.join(c for c in parts if c not in _MARKS)
    if self.lowercase:
      spelled = ''.join(_NEW_LOWER.get(c) or c.lower() for c in spelled)
    spelled = ''.join(map(_apart, spelled))
    if self.split_chinese and _is_in(CHINESE, character):
      return f' {spelled} '
    return spelled

  def is_word(self, text: str) -> bool:
    """Returns whether a normalized text is one word."""
    if not text or not _SPACES.isdisjoint(text):
      return False
    return len(text) == 1 or not any(
      c in _PUNCTUATION or (self.split_chinese and _is_in(CHINESE, c))
      for c in text
    )


UNCASED = CharacterRules()


def is_mark(character: str) -> bool:
  """Returns whether a character is an accent (category Mn)."""
  return character in _MARKS


@functools.cache
def irregular(rules: CharacterRules) -> dict[int, str]:
  """Returns code -> spelling of all characters that change.

  Characters that are only dropped or only split as Chinese may be missing.
  """
  characters = [*map(chr, codes(_CHANGING))]
  # Three of four do not change; to spell them would take most of the time.
  decomposed = unicodedata.normalize('NFD', '\ue000'.join(characters))
  others = decomposed.lower().split('\ue000')
  special = _PUNCTUATION | _MARKS | _SPACES | _NEW_LOWER.keys()
  changed = (c for c, o in zip(characters, others) if c != o or c in special)
  pairs = ((character, rules.spell(character)) for character in changed)
  return {ord(c): spelled for c, spelled in pairs if spelled != c}


def _apart(character: str) -> str:
  if character in _SPACES:
    return ' '
  return f' {character} ' if character in _PUNCTUATION else character
