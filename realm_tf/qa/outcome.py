"""Retrieved blocks and answers of questions, and the value of each question.

An evaluator yields (metric, values in [0, 1]) of an outcome, a value for each
question that the metric is about. `summary` makes means and intervals of them.
"""

from collections.abc import Sequence
import dataclasses
import functools
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.text import answers as answers_lib


class Quality(NamedTuple):
  """Exact match and F1 of the answers to Q questions (Section 4.1).

  Attributes:
    exact: Whether a prediction matches a reference exactly, bool [Q].
    f1: Word overlap with the best reference, in [0, 1], [Q]; equal to `exact`
      for a regular expression, which has no words.
  """

  exact: np.ndarray
  f1: np.ndarray


def quality(
  predictions: Sequence[str], questions: Sequence[questions_lib.Question]
) -> Quality:
  """Compares a prediction per question, '' for none, with its references."""
  exact = [
    answers_lib.exact_match(prediction, question.answers, question.regex)
    for prediction, question in zip(predictions, questions, strict=True)
  ]
  overlap = [
    is_exact if question.regex else answers_lib.f1(prediction, question.answers)
    for prediction, question, is_exact in zip(predictions, questions, exact)
  ]
  return Quality(np.array(exact, bool), np.array(overlap, np.float64))


@dataclasses.dataclass(frozen=True)
class Outcome:
  """Retrieved blocks and answers of Q questions.

  Attributes:
    block_ids: Retrieved blocks, best first, int [Q, K]; -1 for none.
    scores: Retrieval scores, float [Q, K].
    holds_answer: Whether a block holds an answer, bool [Q, K].
    is_gold: Whether a block is from the article `gold_id`, bool [Q, K].
    answers: Q answers; empty without a reader.
    seconds: Shares of a batch's time; the first batch may be left out.
  """

  questions: Sequence[questions_lib.Question]
  block_ids: np.ndarray
  scores: np.ndarray
  holds_answer: np.ndarray
  is_gold: Optional[np.ndarray]
  answers: Sequence[answer_lib.Answer]
  seconds: np.ndarray

  @functools.cached_property
  def quality(self) -> Quality:
    predictions = [answer.prediction for answer in self.answers]
    return quality(predictions, self.questions)

  @property
  def has_answers(self) -> bool:
    """Whether any question has references; BEIR's questions have none."""
    return any(question.answers for question in self.questions)

  def answerable(self) -> 'Outcome':
    """Returns the outcome of the questions that are not impossible."""
    rows = [i for i, q in enumerate(self.questions) if not q.is_impossible]
    return dataclasses.replace(
      self,
      questions=[self.questions[i] for i in rows],
      block_ids=self.block_ids[rows],
      scores=self.scores[rows],
      holds_answer=self.holds_answer[rows],
      is_gold=None if self.is_gold is None else self.is_gold[rows],
      answers=[self.answers[i] for i in rows] if self.answers else [],
    )

  def rows(self) -> list[dict[str, Any]]:
    """Returns the objects of predictions.jsonl, or else of ranks.jsonl."""
    rows: list[dict[str, Any]] = []
    ranks = {'answer_rank': first_rank(self.holds_answer)}
    if self.is_gold is not None:
      ranks['gold_rank'] = first_rank(self.is_gold)
    for i, question in enumerate(self.questions):
      row: dict[str, Any] = {}
      if self.answers:
        row = {
          **self.answers[i].as_json(),
          'answers': list(question.answers),
          'regex': question.regex,
          'is_impossible': question.is_impossible,
          'exact_match': bool(self.quality.exact[i]),
          'f1': float(self.quality.f1[i]),
        }
      row |= {'question': question.question, 'id': question.question_id}
      row |= {name: int(rank[i]) or None for name, rank in ranks.items()}
      rows.append(row)
    return rows


def of_reader(outcome: Outcome) -> interfaces.Values:
  """Yields the quality of answers.

  exact_match_one_block rates the answer from the first retrieved block alone,
  reader_oracle the best of the answers from each block alone.
  """
  if not outcome.answers:
    return
  yield 'exact_match', outcome.quality.exact.astype(np.float64)
  yield 'f1', outcome.quality.f1
  first, some = np.zeros([2, len(outcome.questions)])
  for i, (question, answer) in enumerate(
    zip(outcome.questions, outcome.answers, strict=True)
  ):
    alone = {e.block_id: e.block_answer for e in answer.evidence}
    given = [alone.get(int(outcome.block_ids[i, 0]), ''), *alone.values()]
    is_right = quality(given, [question] * len(given)).exact
    first[i], some[i] = is_right[0], is_right[1:].any()
  yield 'exact_match_one_block', first
  yield 'reader_oracle', some


def of_retriever(
  outcome: Outcome, recall_at: Sequence[int]
) -> interfaces.Values:
  """Yields recall@k, and reranked_recall@k in the reader's order of blocks.

  A block is right if it holds an answer. Without fine-tuning this is Table 2's
  zero-shot recall. With fewer than k blocks, recall@k counts all. Blocks that
  the reader did not read are never right.
  """
  if not outcome.has_answers or not (outcome.block_ids >= 0).any():
    return
  yield from recall('recall', outcome.holds_answer, recall_at)
  if not outcome.answers:
    return
  reranked = np.zeros(outcome.holds_answer.shape, bool)
  for row, answer in enumerate(outcome.answers):
    is_right = dict(zip(outcome.block_ids[row], outcome.holds_answer[row]))
    read = [is_right[item.block_id] for item in answer.evidence]
    reranked[row, : len(read)] = read
  yield from recall('reranked_recall', reranked, recall_at)


def of_gold_articles(
  outcome: Outcome, recall_at: Sequence[int]
) -> interfaces.Values:
  """Yields gold_recall@k of the questions with a `gold_id`.

  A block must be from the article that the question was written on, because an
  answer such as "two" is in many blocks.
  """
  has_gold = [bool(question.gold_id) for question in outcome.questions]
  if outcome.is_gold is not None and any(has_gold):
    yield from recall('gold_recall', outcome.is_gold[has_gold], recall_at)


def recall(
  name: str, found: np.ndarray, recall_at: Sequence[int]
) -> interfaces.Values:
  """Yields (NAME@k, whether any of the first k blocks is right, float [Q]).

  `found`, bool [Q, K], tells which blocks are right.
  """
  for k in recall_at:
    yield f'{name}@{k}', found[:, :k].any(axis=1).astype(np.float64)


def first_rank(found: np.ndarray) -> np.ndarray:
  """Returns the rank from 1 of each row's first right block, or 0, int [Q]."""
  return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)
