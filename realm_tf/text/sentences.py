"""Splits text into sentences by rules for English.

A sentence ends with its line, and at '.', '!' or '?' before white space, unless
the dot belongs to an abbreviation or lower case follows. Lower case means
nothing in a line without a capital letter.
"""

from collections.abc import Iterator, Sequence
import re
from typing import cast

from realm_tf.text import english

# A candidate: end marks, closing quotes or brackets, white space. It begins at
# the first of several marks, which keeps the time linear.
_CANDIDATE = re.compile(r"""([.!?…](?<![.!?…]{2})[.!?…]*)["'”’»)\]]*(\s+)""")
_LINE = re.compile(r'[^\r\n\u2028\u2029]+')
_LAST_WORD = re.compile(r"""[^\s("'“‘«\[—–/-]*$""")
_INITIALS = re.compile(r'([A-Z]|[^\W\d_](\.[^\W\d_])+)$')  # No final dot.
_LONG_WORD = 7  # Letters; no abbreviation is as long.
_LONGEST_WORD = 24  # Characters looked at before a dot.

# A name follows: the dot never ends a sentence.
_TITLES = frozenset(english.WORDS['titles'])
# The dot ends no sentence before a number.
_NUMBERED = frozenset(english.WORDS['numbered'])
# The dot ends a sentence only before a word that often starts one.
_ABBREVIATIONS = frozenset(english.WORDS['abbreviations'])
_STARTERS = frozenset(english.WORDS['starters'])
_NEXT_WORD = re.compile(r"""["'“‘«(\[]*([^\W\d_]*)""")


def split_sentences(text: str) -> list[tuple[int, int]]:
  """Returns the (start, end) characters of each sentence, in order.

  Every character but white space between sentences is in exactly one of them.
  """
  sentences = []
  for line in _LINE.finditer(text):
    start, stop = line.span()
    is_cased = not line[0].islower()
    for match in _CANDIDATE.finditer(text, start, stop):
      if match.end() < stop and _is_end(text, match, is_cased):
        _append_stripped(sentences, text, start, match.start(2))
        start = match.end()
    _append_stripped(sentences, text, start, stop)
  return sentences


def parts(
  text: str, longest: int, marks: Sequence[str] = (' ',)
) -> Iterator[tuple[int, str]]:
  """Yields (first character, part) of a text.

  Parts have at most `longest` characters, and end at the first of `marks` that
  they have.
  """
  start = 0
  while len(text) - start > longest:
    stop = start + longest
    ends = (text.rfind(mark, start + 1, stop) for mark in marks)
    stop = next((end for end in ends if end > 0), stop)
    yield start, text[start:stop]
    start = stop
  yield start, text[start:]


def _append_stripped(sentences, text, start, end):
  piece = text[start:end].rstrip()
  stripped = piece.lstrip()
  if stripped:
    end = start + len(piece)
    sentences.append((end - len(stripped), end))


def _is_end(text: str, match: re.Match, is_cased: bool) -> bool:
  next_word = cast(re.Match, _NEXT_WORD.match(text, match.end()))[1]
  if is_cased and next_word[:1].islower():
    return False
  if match.group(1) != '.':
    return True
  dot = match.start(1)
  if text[dot - _LONG_WORD : dot].isalpha() and dot >= _LONG_WORD:
    return True  # The common case, decided fast.
  before = text[max(0, dot - _LONGEST_WORD) : dot]
  word = cast(re.Match, _LAST_WORD.search(before)).group()
  if word.lower() in _TITLES:
    return False
  if word.lower() in _NUMBERED and text[match.end()].isdigit():
    return False
  word = word if is_cased else word.upper()
  if word.lower() in _ABBREVIATIONS or _INITIALS.match(word):
    # 'J. Smith' and 'U.S. Army' go on; 'the U.S. It' does not.
    return is_cased and next_word in _STARTERS
  return True
