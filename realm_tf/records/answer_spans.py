"""Where answers stand in blocks: exact matches of wordpieces."""

from collections.abc import Sequence

import numpy as np


def find(
  body_ids: np.ndarray, answers: Sequence[np.ndarray], max_width: int
) -> tuple[np.ndarray, np.ndarray]:
  """Marks every occurrence of any answer.

  S(z,y) of Section 3.2 of Guu et al. 2020, matched as ORQA does: wordpiece by
  wordpiece.

  Args:
    body_ids: int32 [N, Lz], zeros behind the wordpieces.
    answers: Wordpieces of each answer, int32 [length].
    max_width: W. Longer answers mark their block but have no span.

  Returns:
    Whether a block has an answer, bool [N], and whether the span of w + 1
    wordpieces from position s is one, bool [N, Lz, W].
  """
  num_blocks, length = body_ids.shape
  has_answer = np.zeros([num_blocks], bool)
  is_answer = np.zeros([num_blocks, length, max_width], bool)
  for answer in answers:
    width = len(answer)
    if not 0 < width <= length:
      continue
    starts = body_ids[:, : length - width + 1] == answer[0]
    for offset in range(1, width):
      starts &= (
        body_ids[:, offset : length - width + 1 + offset] == answer[offset]
      )
    has_answer |= starts.any(axis=1)
    if width <= max_width:
      is_answer[:, : length - width + 1, width - 1] |= starts
  return has_answer, is_answer
