"""Recall@k: how often any of the first k blocks is right.

A block is right if it holds an answer or, for gold recall, if it is of the
article that the question was written on: an answer such as "two" is in many
blocks that do not answer the question. Before any fine-tuning, recall@k is the
paper's zero-shot recall (Table 2), which compares two pre-trainings.
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
  """Returns which blocks hold an answer to their question, bool [B, K].

  Args:
    block_ids: Retrieved blocks, best first, int [B, K]; -1 for none.
    matcher: Tells which block holds which answer.
    questions: B questions, at least one.
  """
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
  """Returns which blocks are of the article of `gold_id`, bool [B, K].

  Args:
    block_ids: Retrieved blocks, int [B, K]; -1 for none.
    read_article_ids: Maps block ids to the ids of their articles.
    questions: B questions; one without a `gold_id` has no such block.
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
  """Returns the rank of each row's first right block, from 1, or 0, int [B]."""
  return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)
