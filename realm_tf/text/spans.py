"""Between character spans and token spans of one tokenized string.

Spans are half open. Characters are those of the original string, so an answer
is always cut from the text as it was written, never rebuilt from wordpieces.
"""

from typing import Optional

import numpy as np

from realm_tf.text import wordpiece


def char_to_token_span(
  tokens: wordpiece.Tokens, start: int, end: int
) -> Optional[tuple[int, int]]:
  """Returns the tokens that cover exactly characters [start, end).

  White space at either edge of the characters does not matter.

  Returns:
    (first token, last token + 1), or None if an edge of the span cuts a token
    or no token lies inside.
  """
  first = int(np.searchsorted(tokens.ends, start, side='right'))
  stop = int(np.searchsorted(tokens.starts, end, side='left'))
  if first >= stop:
    return None
  if tokens.starts[first] < start or tokens.ends[stop - 1] > end:
    return None
  return first, stop


def token_to_char_span(
  tokens: wordpiece.Tokens, first: int, end: int
) -> tuple[int, int]:
  """Returns the characters (start, end) of tokens [first, end), first < end."""
  return int(tokens.starts[first]), int(tokens.ends[end - 1])
