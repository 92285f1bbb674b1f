"""Maps character spans to token spans and back; both are half open.

Characters are those of the original string, so answers are cut from the text as
written, not rebuilt from wordpieces.
"""

from typing import Optional

import numpy as np

from realm_tf.text import wordpiece


def char_to_token_span(
  tokens: wordpiece.Tokens, start: int, end: int
) -> Optional[tuple[int, int]]:
  """Returns the tokens [first, end) that cover exactly characters [start, end).

  White space at the edges is ignored. Returns None if an edge cuts a token or
  no token lies inside.
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
