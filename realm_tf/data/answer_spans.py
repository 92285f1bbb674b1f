"""Finds answers in blocks by exact match of wordpieces, for training.

Evaluation compares words; `text.answers` says how often the results differ.
`is_inner`, bool [V], marks wordpieces inside words (`WordpieceTokenizer`): an
answer neither begins with one nor ends before one.
"""

from collections.abc import Sequence
from typing import Optional

import numpy as np

from realm_tf.data import block_table


def find(
  body_ids: np.ndarray,
  answers: Sequence[np.ndarray],
  max_width: int,
  is_inner: Optional[np.ndarray] = None,
) -> tuple[np.ndarray, np.ndarray]:
  """Marks S(z,y) of Section 3.2 of Guu et al. 2020, matched as in ORQA.

  Args:
    body_ids: int32 [N, Lz], zero-padded.
    answers: Wordpieces of each answer, int32 [width].
    max_width: W. Longer answers mark their block but have no span.

  Returns:
    Blocks with an answer, bool [N], and answers, bool [N, Lz, W]: element [n,
    s, w] is the span of w + 1 wordpieces from position s of block n.
  """
  is_answer = np.zeros([*body_ids.shape, max_width], bool)
  has_answer = np.zeros([len(body_ids)], bool)
  length = body_ids.shape[1]
  for answer in answers:
    width = len(answer)
    if not 0 < width <= length:
      continue
    # Few positions have the first wordpiece; others are not compared again.
    blocks, starts = np.nonzero(body_ids[:, : length - width + 1] == answer[0])
    for offset in range(1, width):
      same = body_ids[blocks, starts + offset] == answer[offset]
      blocks, starts = blocks[same], starts[same]
    if is_inner is not None:
      after = starts + width
      goes_on = is_inner[body_ids[blocks, np.minimum(after, length - 1)]]
      whole = ~(goes_on & (after < length) | is_inner[answer[0]])
      blocks, starts = blocks[whole], starts[whole]
    has_answer[blocks] = True
    if width <= max_width:
      is_answer[blocks, starts, width - 1] = True
  return has_answer, is_answer


def contain(
  body_ids: np.ndarray,
  answers: Sequence[np.ndarray],
  is_inner: Optional[np.ndarray] = None,
) -> np.ndarray:
  """Returns whether each block of `body_ids` has an answer, bool [N]."""
  return find(body_ids, answers, 0, is_inner)[0]


_BLOCKS = 1024  # Compared at once; most searches end with the first.


def is_any_in(
  table: block_table.BlockTable, answers: Sequence[np.ndarray], length: int
) -> bool:
  """Returns whether a block has an answer in its first `length` wordpieces.

  Each answer is its wordpieces, int32 [width].
  """
  for start in range(0, table.num_blocks, _BLOCKS):
    ids = np.arange(start, min(start + _BLOCKS, table.num_blocks))
    bodies = table.gather(ids, 1, length)[1]
    if any(contain(bodies, [answer]).any() for answer in answers):
      return True
  return False
