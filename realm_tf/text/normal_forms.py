"""Unicode's normal forms in linear time, for texts from outside.

`unicodedata` sorts the marks behind a letter by insertion: 40,000 of them in
the wrong order take 6 seconds.
"""

import itertools
import re
from typing import Literal
import unicodedata

_MANY_MARKS = re.compile(r'[^\w\s]{32,}')  # Or punctuation, which stays.


def normalize(form: Literal['NFC', 'NFD'], text: str) -> str:
  """Returns `unicodedata.normalize(form, text)`."""
  if not text.isascii():
    text = _MANY_MARKS.sub(_sorted_marks, text)
  return unicodedata.normalize(form, text)


def _sorted_marks(match: re.Match) -> str:
  # One by one, for some characters of class 0 are two marks.
  marks = itertools.chain.from_iterable(
    unicodedata.normalize('NFD', mark) for mark in match.group()
  )
  parts: list[str] = []
  # Characters of class 0 end a row of marks.
  for _, group in itertools.groupby(
    marks, lambda c: not unicodedata.combining(c)
  ):
    parts += sorted(group, key=unicodedata.combining)
  return ''.join(parts)
