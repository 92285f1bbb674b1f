"""Retrieved blocks and answers of each question -> metrics of each question."""

from collections.abc import Sequence
import dataclasses
import functools
from typing import Any, Optional

import numpy as np

from realm_tf.answering import answer as answer_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import exact_match
from realm_tf.evaluation import refusing
from realm_tf.evaluation import retrieval_recall


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
  def quality(self) -> exact_match.PerQuestion:
    return exact_match.per_question(self.predictions, self.questions)

  @property
  def predictions(self) -> list[str]:
    return [answer.prediction for answer in self.answers]

  @functools.cached_property
  def rated(self) -> refusing.Rated:
    """The answers' probabilities; there must be a reader."""
    return refusing.Rated(
      np.array([answer.probability for answer in self.answers]),
      self.quality.exact,
      np.array([question.is_impossible for question in self.questions]),
      np.array([answer.is_refused for answer in self.answers]),
    )

  def answerable(self) -> 'Outcome':
    """Returns the outcome of the questions that are not impossible."""
    rows = [i for i, q in enumerate(self.questions) if not q.is_impossible]
    if len(rows) == len(self.questions):
      return self
    return dataclasses.replace(
      self,
      questions=[self.questions[i] for i in rows],
      block_ids=self.block_ids[rows],
      scores=self.scores[rows],
      holds_answer=self.holds_answer[rows],
      is_gold=None if self.is_gold is None else self.is_gold[rows],
      answers=[self.answers[i] for i in rows] if self.answers else [],
    )

  def first(self, num_blocks: int) -> 'Outcome':
    """Returns the outcome of the first blocks of each question."""
    return dataclasses.replace(
      self,
      block_ids=self.block_ids[:, :num_blocks],
      scores=self.scores[:, :num_blocks],
      holds_answer=self.holds_answer[:, :num_blocks],
      is_gold=None if self.is_gold is None else self.is_gold[:, :num_blocks],
    )

  @property
  def has_answers(self) -> bool:
    """Whether any question has references; BEIR's questions have none."""
    return any(question.answers for question in self.questions)

  @property
  def has_gold(self) -> np.ndarray:
    """Whether each question has a `gold_id`, bool [Q]."""
    return np.array([bool(question.gold_id) for question in self.questions])

  def reading(self) -> dict[str, np.ndarray]:
    """Returns metric -> value of each question in [0, 1], [Q].

    exact_match_one_block rates the answer from the first retrieved block alone.
    reader_oracle rates the best of the answers from each block alone.
    """
    return {
      'exact_match': self.quality.exact.astype(np.float64),
      'f1': self.quality.f1,
      'exact_match_one_block': self._first_block_is_right(),
      'reader_oracle': self._some_block_is_right(),
    }

  def reranked(self, found: np.ndarray) -> np.ndarray:
    """Puts `found`, bool [Q, K], into the reader's order of blocks.

    Blocks that the reader did not read are never right.
    """
    order = np.full(self.block_ids.shape, -1)
    for row, answer in enumerate(self.answers):
      places = {block: place for place, block in enumerate(self.block_ids[row])}
      ranked = [places[item.block_id] for item in answer.evidence]
      order[row, : len(ranked)] = ranked
    return np.take_along_axis(found, order, axis=1) & (order >= 0)

  def ranks(self) -> list[dict[str, Any]]:
    """Returns the objects of ranks.jsonl."""
    rows = [
      {'question': q.question, 'id': q.question_id} for q in self.questions
    ]
    found = {'answer_rank': self.holds_answer, 'gold_rank': self.is_gold}
    for name, is_right in found.items():
      if is_right is not None:
        for row, rank in zip(rows, retrieval_recall.first_rank(is_right)):
          row[name] = int(rank) or None
    return rows

  def rows(self) -> list[dict[str, Any]]:
    """Returns the objects of predictions.jsonl."""
    rows = []
    for i, (answer, ranks) in enumerate(zip(self.answers, self.ranks())):
      references = {
        'answers': list(self.questions[i].answers),
        'regex': self.questions[i].regex,
        'is_impossible': self.questions[i].is_impossible,
        'exact_match': bool(self.quality.exact[i]),
        'f1': float(self.quality.f1[i]),
      }
      rows.append({**answer.as_json(), **references, **ranks})
    return rows

  def _first_block_is_right(self) -> np.ndarray:
    given = [
      next((e.block_answer for e in answer.evidence if e.block_id == first), '')
      for answer, first in zip(self.answers, self.block_ids[:, 0], strict=True)
    ]
    return exact_match.per_question(given, self.questions).exact * 1.0

  def _some_block_is_right(self) -> np.ndarray:
    right = [
      any(
        exact_match.per_question([item.block_answer], [question]).exact[0]
        for item in answer.evidence
      )
      for answer, question in zip(self.answers, self.questions, strict=True)
    ]
    return np.array(right, np.float64)
