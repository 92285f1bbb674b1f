"""BERT's basic tokenization, character by character, as `tokenizers` has it.

  a character -> its spelling in words, ' 東 ' for one that is a word by itself

Hugging Face's tokenizers 0.22 has the tables of Unicode 8, and of 17 for lower
case. characters.json has them, too: Python's own differ between its versions,
and a character of another class would give other wordpieces.
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
  """Parses 'first-last first-last' to first, last + 1, first, last + 1."""
  text = ranges if isinstance(ranges, str) else ' '.join(ranges)
  pairs = (part.partition('-') for part in text.split())
  return tuple(
    bound
    for first, _, last in pairs
    for bound in (int(first, 16), int(last or first, 16) + 1)
  )


def codes(bounds: tuple[int, ...]) -> Iterator[int]:
  """Yields the numbers of all characters within `bounds`."""
  for first, stop in zip(bounds[::2], bounds[1::2], strict=True):
    yield from range(first, stop)


def _characters(ranges: str | list[str]) -> frozenset[str]:
  return frozenset(map(chr, codes(_bounds(ranges))))


def _is_in(bounds: tuple[int, ...], character: str) -> bool:
  return bisect.bisect_right(bounds, ord(character)) % 2 == 1


# Control, format and private characters, and U+FFFD.
DROPPED = _bounds(_TABLES['dropped'])
CHINESE = _bounds(_TABLES['chinese'])
# Characters outside of these are neither decomposed nor lower-cased.
_CHANGING = _bounds(_TABLES['changing'])
# Categories P*, and ASCII's symbols.
_PUNCTUATION = _characters(_TABLES['punctuation'])
_MARKS = _characters(_TABLES['marks'])  # Accents: category Mn.
_SPACES = _characters(_TABLES['spaces'])
# Characters newer than the table of decompositions.
_WHOLE = _characters(_TABLES['whole'])
# Capitals that Pythons differ in, by the distance of the small letter.
_NEW_LOWER = {
  capital: chr(ord(capital) + int(distance))
  for distance, capitals in _TABLES['new capitals'].items()
  for capital in _characters(capitals)
}


@dataclasses.dataclass(frozen=True)
class CharacterRules:
  """Rules of a vocabulary; the default is BERT's uncased ones.

  Attributes:
    lowercase: Whether letters become lower case.
    strip_accents: Whether characters are decomposed and lose their accents.
    split_chinese: Whether each Chinese character is a word.
    clean_text: Whether control characters are dropped.
  """

  lowercase: bool = True
  strip_accents: bool = True
  split_chinese: bool = True
  clean_text: bool = True

  def spell(self, character: str) -> str:
    """Returns what a character becomes, with spaces where words end."""
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
    """Returns whether a text of final form is one word."""
    if not text or not _SPACES.isdisjoint(text):
      return False
    return len(text) == 1 or not any(
      c in _PUNCTUATION or (self.split_chinese and _is_in(CHINESE, c))
      for c in text
    )


UNCASED = CharacterRules()


def is_mark(character: str) -> bool:
  """Returns whether a character is an accent."""
  return character in _MARKS


@functools.cache
def irregular(rules: CharacterRules) -> dict[int, str]:
  """Returns the characters that do not stay as they are, and their spelling.

  Those that are only dropped, or only set apart as Chinese, may be missing.
  """
  pairs = ((code, rules.spell(chr(code))) for code in codes(_CHANGING))
  return {code: spelled for code, spelled in pairs if spelled != chr(code)}


def _apart(character: str) -> str:
  """Returns a space for white space, and punctuation between spaces."""
  if character in _SPACES:
    return ' '
  return f' {character} ' if character in _PUNCTUATION else character
