"""Normalizes texts by BERT's rules for tensorflow_text's wordpiece op.

FastWordpieceTokenizer splits words by other tables than BERT's. So each of the
vocabulary's characters beyond ASCII is replaced by a letter, in pieces and in
texts; all other characters share one letter. Spaces mark BERT's word ends.
"""

import bisect
from collections.abc import Iterable, Iterator, Sequence
import dataclasses
import functools
import itertools
import json
import pathlib
from typing import NamedTuple, Optional
import unicodedata

import numpy as np

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
    spelled = ''.join(
      ' ' if c in _SPACES else f' {c} ' if c in _PUNCTUATION else c
      for c in spelled
    )
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


MAX_WORD = 100  # Characters; a longer word is [UNK] in BERT.
# Letters in all versions of Unicode, those with short UTF-8 first.
_LETTERS = ((0x100, 0x250), (0x400, 0x482), (0x48A, 0x530), (0xAC00, 0xD7A4))
_PRIVATE = (0x100000, 0x10FFF0)
NEVER = '\U0010ffff'  # Begins pieces that no text can have.
_SPACE = ord(' ')
_PAGE = 64  # Characters.
_ODD = np.uint32(0xFFFFFFFF)
ENDS_WORD = np.array(
  [32 <= i < 127 and not chr(i).isalnum() for i in range(129)]
)  # The last entry is for all characters beyond ASCII.


class Spelled(NamedTuple):
  """Normalized texts, joined with spaces.

  Attributes:
    codes: Normalized characters, uint32 [N].
    origins: Index of each in the joined input, int32 [N]; None for 0, 1, 2, ...
    marks: Sorted indices in the joined input of dropped accents.
  """

  codes: np.ndarray
  origins: Optional[np.ndarray]
  marks: np.ndarray


class CharacterTable:
  """Table of A actions; an action replaces a character by 0 to n others.

  Args:
    pieces: All wordpieces, without the prefix '##'.

  Attributes:
    actions: Action of each character, int32 [0x110000].
    outputs: Characters of all actions, concatenated, uint32.
    starts: First of each action's characters in `outputs`, int64 [A].
    sizes: Number of each action's characters, int64 [A].
    unknown: Letter for all characters that are in no piece.
    mark: Action of a dropped accent.
  """

  def __init__(self, rules: CharacterRules, pieces: Iterable[str]):
    alphabet = sorted({c for c in ''.join(pieces) if not c.isascii()})
    letters = map(
      chr, itertools.chain(*itertools.starmap(range, (*_LETTERS, _PRIVATE)))
    )
    unknown = next(letters)
    self.unknown = ord(unknown)
    self._letters = dict(zip(alphabet, letters, strict=False))
    numbers = {unknown: 0, f' {unknown} ': 1, '': 2}  # Spelling -> action.
    self.mark = 3
    actions = np.zeros(NUM_CHARACTERS, np.int32)
    if rules.split_chinese:
      actions[[*codes(CHINESE)]] = 1
    if rules.clean_text:
      actions[[*codes(DROPPED)]] = 2
    spellings = {
      code: rules.spell(chr(code))
      for code in [*range(128), *map(ord, alphabet)]
    }
    spellings.update(irregular(rules))
    for code, spelled in spellings.items():
      if code < 128:  # The op itself ends words at ASCII punctuation.
        spelled = spelled.strip() or spelled
      actions[code] = numbers.setdefault(
        ''.join(
          c if c.isascii() else self._letters.get(c, unknown) for c in spelled
        ),
        len(numbers) + 1,
      )
      if not spelled and chr(code) in _MARKS:
        actions[code] = self.mark
    self.actions = actions
    rows = [*numbers][:3] + [''] + [*numbers][3:]
    self.sizes = np.array([len(row) for row in rows], np.int64)
    self.starts = np.cumsum(self.sizes) - self.sizes
    self.outputs = _codes(''.join(rows))
    # Each character's output, or _ODD if it is not one character.
    single = np.append(self.outputs, np.uint32(0))[self.starts]
    self._single = np.where(self.sizes == 1, single, _ODD)[actions]

  def letters(self, piece: str) -> str:
    """Returns a wordpiece with its characters replaced by their letters."""
    if piece.isascii():
      return piece
    return ''.join(self._letters.get(c, c) for c in piece)

  def spell(self, texts: Sequence[str]) -> Spelled:
    """Normalizes texts."""
    given = _codes('\n'.join(texts))
    codes = self._single[given]
    odd = np.flatnonzero(codes == _ODD)
    if not len(odd):
      _hide_long_words(codes, self.unknown)
      return Spelled(codes, None, odd)
    actions = self.actions[given[odd]]
    sizes = self.sizes[actions]
    begins = odd + np.cumsum(sizes - 1) - (sizes - 1)
    # Steps of the input index between outputs: 1, but 2 over a dropped input,
    # and 0 within the outputs of one input.
    steps = np.ones(len(given) + np.sum(sizes - 1) + 1, np.int32)
    np.add.at(steps, begins[sizes == 0], 1)
    for place in range(1, max(sizes)):
      steps[begins[sizes > place] + place] = 0
    origins = np.cumsum(steps[:-1], dtype=np.int32)
    origins -= 1
    codes = codes[origins]
    for place in range(max(sizes)):
      more = sizes > place
      codes[begins[more] + place] = self.outputs[
        self.starts[actions[more]] + place
      ]
    _hide_long_words(codes, self.unknown)
    return Spelled(codes, origins, odd[actions == self.mark])

  @functools.cached_property
  def pages(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns `actions` in a tenth of the space, for graphs.

    First the row of each page, int32; then the rows, int32 [R, page length].
    """
    rows, pages = np.unique(
      self.actions.reshape(-1, _PAGE), axis=0, return_inverse=True
    )
    return pages.astype(np.int32).reshape(-1), rows


def _codes(text: str) -> np.ndarray:
  # '?' replaces a lone surrogate, which JSON may contain.
  return np.frombuffer(text.encode('utf-32-le', 'replace'), '<u4')


def _hide_long_words(codes: np.ndarray, unknown: int) -> None:
  """Replaces the characters of words above MAX_WORD by `unknown`."""
  spaces = np.flatnonzero(codes == _SPACE)
  if np.diff(spaces, prepend=-1, append=len(codes)).max() <= MAX_WORD + 1:
    return
  ends = ENDS_WORD[np.minimum(codes, 128)]
  places = np.flatnonzero(np.append(ends, True))
  gaps = np.diff(places, prepend=-1)
  is_long = np.repeat(gaps > MAX_WORD + 1, gaps)[:-1]
  codes[is_long & ~ends] = unknown
