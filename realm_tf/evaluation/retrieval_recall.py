"""Recall@k: how often one of the first k blocks is a right one.

Right is a block that holds an answer or, where the article is known that a
question was written on, a block of that article: an answer such as "two" is in
many blocks that do not say so.

Before any fine-tuning this is the paper's zero-shot recall (Table 2), the
fairest comparison of two pre-trainings.
"""

from collections.abc import Callable, Sequence

import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.text import answers


def holds_answer(
  block_ids: np.ndarray,
  matcher: answers.AnswerMatcher,
  questions: Sequence[questions_lib.Question],
) -> np.ndarray:
  """Returns which blocks hold one of their question's answers, bool [B, K].

  Args:
    block_ids: Retrieved blocks, best first, int [B, K]; -1 for none.
    matcher: Knows which block holds which answer.
    questions: B questions, at least one.
  """
  if not questions or len(block_ids) != len(questions):
    raise ValueError(
      'There must be one row of blocks per question, and at least one. Got '
      f'{len(block_ids)} rows, {len(questions)} questions.'
    )
  return matcher.matches(
    block_ids,
    [question.answers for question in questions],
    [question.regex for question in questions],
  )


def is_of_gold_article(
  block_ids: np.ndarray,
  read_article_ids: Callable[[Sequence[int]], Sequence[str]],
  questions: Sequence[questions_lib.Question],
) -> np.ndarray:
  """Returns which blocks are of the article with the question's `gold_id`.

  Args:
    block_ids: As above.
    read_article_ids: Maps block ids to the ids of their articles.
    questions: B questions; one without a `gold_id` has no such block.

  Returns:
    bool [B, K].
  """
  ids, place = np.unique(block_ids, return_inverse=True)
  articles = np.full(ids.shape, None, object)
  articles[ids >= 0] = read_article_ids(ids[ids >= 0].tolist())
  gold = np.array([question.gold_id or '-' for question in questions], object)
  has_gold = np.array([bool(question.gold_id) for question in questions])
  found = articles[place.reshape(block_ids.shape)] == gold[:, None]
  return found.astype(bool) & has_gold[:, None]


def within(found: np.ndarray, k: int) -> np.ndarray:
  """Returns whether one of the first k, or of all if there are fewer, [B]."""
  if k < 1:
    raise ValueError(f'k must be positive. Got {k}.')
  return found[:, :k].any(axis=1)


def first_rank(found: np.ndarray) -> np.ndarray:
  """Returns the rank of each row's first, from 1; 0 for none, int [B]."""
  return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)
