"""Finds an answer's words in a row, in any case and with any punctuation.

The rule by which a block holds an answer (see `answers`). `spaced_words` makes
one string to search in, for speed; `find` returns characters, for training.
"""

from collections.abc import Iterator
import functools
import re
from typing import NamedTuple
import unicodedata

from realm_tf.text import normal_forms

_DROPPED = ('a', 'an', 'the')
_WORD = re.compile(r'[^\W_]+')
_PUNCTUATION_AFTER = re.compile(r'(?:[^\w\s]|_)*')
_PUNCTUATION_BEFORE = re.compile(r'(?:[^\w\s]|_)*\Z')


class _Word(NamedTuple):
  """A word in lower case, and its characters (start, end) in the text."""

  word: str
  start: int
  end: int


class _Answer(NamedTuple):
  """An answer's words, and what it has before and after them, longest first.

  "The A.D. 9 (a)" has "The A." or "" before D, and " (a)" or "" after 9.
  """

  spaced: str
  before: tuple[str, ...]
  after: tuple[str, ...]


def spaced_words(text: str) -> str:
  """Returns all words but articles, with single spaces around each.

  An answer's words occur in a row in a text if the answer's result is part of
  the text's result.
  """
  # NFC, so that an accent does not end a word.
  words = _WORD.findall(_composed(text).lower())
  return f' {" ".join(w for w in words if w not in _DROPPED)} '


def find(text: str, answer: str) -> Iterator[tuple[int, int]]:
  """Yields the characters (start, end) of every occurrence of an answer.

  Punctuation and articles at the edges of the answer, as in U.S., C++ or
  vitamin A, are part of an occurrence if the text has them too. An answer
  without words is never found.
  """
  wanted = _parse_answer(answer)
  if not wanted.spaced.strip():
    return
  words = _words(text)
  searched = f' {" ".join(word.word for word in words)} '
  number_of = {}  # Offset of the space before a word -> number of the word.
  place = 0
  for number, word in enumerate(words):
    number_of[place] = number
    place += len(word.word) + 1
  num_words = wanted.spaced.count(' ') - 1
  place = searched.find(wanted.spaced)
  while place >= 0:
    first = number_of[place]
    start, end = words[first].start, words[first + num_words - 1].end
    yield _extend(text, start, end, wanted)
    place = searched.find(wanted.spaced, place + 1)


@functools.lru_cache(maxsize=100_000)
def spaced_answer(answer: str) -> str:
  """Returns `spaced_words` of an answer, cached."""
  return spaced_words(answer)


@functools.lru_cache(maxsize=100_000)
def _parse_answer(answer: str) -> _Answer:
  words = _words(answer)
  if not words:
    return _Answer('', (), ())
  start, end = words[0].start, words[-1].end
  before = answer[:start].lstrip(), _PUNCTUATION_BEFORE.search(answer, 0, start)
  after = answer[end:].rstrip(), _PUNCTUATION_AFTER.match(answer, end)
  return _Answer(
    spaced_answer(answer),
    (before[0], before[1].group()),
    (after[0], after[1].group()),
  )


def _extend(text, start, end, wanted):
  """Extends a span by what the answer has around its words, if it is there."""
  for before in wanted.before:
    first = start - len(before)
    if first >= 0 and _is_whole(text, first, start, before):
      break
  else:
    first = start
  for after in wanted.after:
    last = end + len(after)
    if _is_whole(text, end, last, after):
      break
  else:
    last = end
  return first, last


def _is_whole(text, start, end, wanted):
  """Whether text[start:end] is `wanted`, ignoring case, and cuts no word."""
  return text[start:end].lower() == wanted.lower() and not any(
    0 < edge < len(text) and text[edge - 1 : edge + 1].isalnum()
    for edge in (start, end)
  )


def _words(text: str) -> list[_Word]:
  """Returns the words of `spaced_words` with their characters."""
  composed = _composed(text)
  lowered = composed.lower()
  found = [
    (match.group(), *match.span())
    for match in _WORD.finditer(lowered)
    if match.group() not in _DROPPED
  ]
  # If nothing changed length, offsets are those of `text`.
  if composed == text and len(lowered) == len(text):
    return [_Word(*word) for word in found]
  origins = _origins(text, composed)
  return [
    _Word(word, origins[start][0], origins[end - 1][1])
    for word, start, end in found
  ]


def _origins(text: str, composed: str) -> list[tuple[int, int]]:
  """Returns the characters of `text` behind each of composed.lower()."""
  clusters = list(_clusters(text))
  parts = [_composed(text[a:b]) for a, b in clusters]
  if ''.join(parts) != composed:  # An unforeseen combination of marks.
    clusters, parts = [(0, len(text))], [composed]
  return [
    cluster
    for cluster, part in zip(clusters, parts, strict=True)
    for character in part
    for _ in character.lower()
  ]


def _clusters(text: str) -> Iterator[tuple[int, int]]:
  """Yields (start, end) of pieces that NFC composes independently."""
  start = 0
  for place in range(1, len(text)):
    if unicodedata.combining(text[place]):
      continue
    # Hangul's characters join the one before, though they are not marks.
    before, after = _composed(text[start:place]), _composed(text[place])
    if _composed(text[start : place + 1]) == before + after:
      yield start, place
      start = place
  if text:
    yield start, len(text)


def _composed(text: str) -> str:
  return normal_forms.normalize('NFC', text)
