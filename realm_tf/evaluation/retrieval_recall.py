"""Recall@k: the share of questions with a right block among the first k.

A block is right if it holds an answer. For gold recall it must be from the
article that the question was written on, because an answer such as "two" is in
many blocks. Without fine-tuning, recall@k is Table 2's zero-shot recall.
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
  """Returns whether each block holds an answer to its question, bool [B, K]."""
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
  """Returns whether each block is from the article `gold_id`, bool [B, K].

  No block is gold for a question without a `gold_id`.
  """
  ids, place = np.unique(block_ids, return_inverse=True)
  articles = np.full(ids.shape, None, object)
  articles[ids >= 0] = read_article_ids(ids[ids >= 0].tolist())
  gold = np.array([question.gold_id or '-' for question in questions], object)
  has_gold = np.array([bool(question.gold_id) for question in questions])
  found = articles[place.reshape(block_ids.shape)] == gold[:, None]
  return found.astype(bool) & has_gold[:, None]


def within(found: np.ndarray, k: int) -> np.ndarray:
  """Returns whether any of the first k blocks is right, bool [B]."""
  return found[:, :k].any(axis=1)


def first_rank(found: np.ndarray) -> np.ndarray:
  """Returns the rank from 1 of each row's first right block, or 0, int [B]."""
  return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)
