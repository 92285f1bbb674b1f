"""Normalizes text for taggers' rules: one character for each letter.

Accents join their letters; other marks and invisible characters, such as soft
hyphens, are dropped; special spaces and hyphens become plain.
"""

from collections.abc import Iterable, Sequence
import functools
import itertools
import re
from typing import Literal, NamedTuple, Optional
import unicodedata

_SPACES = '\xa0\u2000-\u200a\u202f\u205f\u3000'
_HYPHENS = '\u2010\u2011'
_SPACE_OR_HYPHEN = re.compile(f'([{_SPACES}])|[{_HYPHENS}]')
_MARKS = frozenset({'Mn', 'Mc', 'Me', 'Cf'})
_LONGEST_CLUSTER = 32  # Composing a letter and n marks takes n^2 steps.


class Plain(NamedTuple):
  """A normalized text.

  Attributes:
    places: Index in the original of each character, and the original's length;
      None if nothing moved. A dropped character belongs to the one before it.
  """

  text: str
  places: Optional[Sequence[int]]

  def original(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Converts spans of this text to spans of the original."""
    if self.places is None:
      return list(spans)
    return [(self.places[start], self.places[end]) for start, end in spans]


def write(text: str) -> Plain:
  """Returns `text` in plain letters."""
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
    letter = match[1]  # '' before lone marks; accents may join it.
    if letter and stop - start <= _LONGEST_CLUSTER:
      letter = unicodedata.normalize('NFC', match[0])[0]
    parts += [text[end:start], letter]
    places += range(end, start + len(letter))
    end = stop
  places += range(end, len(text) + 1)
  return Plain(''.join([*parts, text[end:]]), places)


@functools.cache
def _patterns() -> tuple[re.Pattern, re.Pattern]:
  """Returns patterns of a special character, and of a letter with marks."""
  # Character classes beyond 0xFFFF would be a hundred times slower.
  every = map(chr, range(0x10000))
  marks = ''.join(c for c in every if unicodedata.category(c) in _MARKS)
  return (
    re.compile(f'[{_SPACES}{_HYPHENS}{marks}]'),
    re.compile(f'([^{marks}]?)[{marks}]+', re.DOTALL),
  )


_MANY_MARKS = re.compile(r'[^\w\s]{32,}')  # Or punctuation; it is unchanged.


def normalize(form: Literal['NFC', 'NFD', 'NFKD'], text: str) -> str:
  """Returns `unicodedata.normalize(form, text)`."""
  if not text.isascii():
    text = _MANY_MARKS.sub(_sorted_marks, text)
  return unicodedata.normalize(form, text)


def plain(text: str) -> str:
  """Returns a text in small letters without accents."""
  if not text.isascii():
    parts = normalize('NFKD', text)
    text = ''.join(c for c in parts if not unicodedata.combining(c))
  return text.casefold()


def _sorted_marks(match: re.Match) -> str:
  # Each alone: some characters of class 0 decompose into two marks.
  marks = itertools.chain.from_iterable(
    unicodedata.normalize('NFD', mark) for mark in match.group()
  )
  parts: list[str] = []
  # A character of class 0 ends a run of marks.
  for _, group in itertools.groupby(
    marks, lambda c: not unicodedata.combining(c)
  ):
    parts += sorted(group, key=unicodedata.combining)
  return ''.join(parts)
