"""Recall@k: how often an answer occurs in one of the first k blocks.

Before any fine-tuning this is the paper's zero-shot recall (Table 2), the
fairest comparison of two pre-trainings.
"""

from collections.abc import Sequence

import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.text import answers


def recall_at(
  block_ids: np.ndarray,
  matcher: answers.AnswerMatcher,
  questions: Sequence[questions_lib.Question],
  ks: Sequence[int],
) -> dict[int, float]:
  """Returns recall@k in percent, for each k.

  Args:
    block_ids: Retrieved blocks, best first, int [B, K]; -1 for none.
    matcher: Knows which block holds which answer.
    questions: B questions, at least one.
    ks: Cut-offs, each in [1, K].

  Returns:
    {k: percent of the questions with an answer in one of the first k blocks}.
  """
  if not questions or len(block_ids) != len(questions):
    raise ValueError(
      'There must be one row of blocks per question, and at least one. Got '
      f'{len(block_ids)} rows, {len(questions)} questions.'
    )
  if not all(1 <= k <= block_ids.shape[1] for k in ks):
    raise ValueError(
      f'Every k must be in [1, {block_ids.shape[1]}]. Got {list(ks)}.'
    )
  found = matcher.matches(
    block_ids,
    [question.answers for question in questions],
    [question.regex for question in questions],
  )  # [B, K]
  found_by = np.maximum.accumulate(found, axis=1)
  return {k: 100 * float(found_by[:, k - 1].mean()) for k in ks}
