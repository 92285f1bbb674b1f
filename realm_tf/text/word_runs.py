"""Writes words such that an answer's words in a row are a part of a text's.

The rule by which a block holds an answer, in any case and with any punctuation;
see `answers`.
"""

import functools
import re

from realm_tf.text import normal_forms

_DROPPED = ('a', 'an', 'the')
_WORD = re.compile(r'[^\W_]+')


def spaced_words(text: str) -> str:
  """Returns all words but articles, with single spaces around each.

  An answer's words occur in a row in a text if the answer's result is part of
  the text's result.
  """
  # NFC, so that an accent does not end a word.
  words = _WORD.findall(normal_forms.normalize('NFC', text).lower())
  return f' {" ".join(w for w in words if w not in _DROPPED)} '


@functools.lru_cache(maxsize=100_000)
def spaced_answer(answer: str) -> str:
  """Returns `spaced_words` of an answer, cached."""
  return spaced_words(answer)
