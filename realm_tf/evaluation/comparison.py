"""Compares two runs' predictions: which run is better, and on which questions.

Means of two runs may differ by chance. McNemar's exact test (1947) compares the
numbers of questions that only one run has right.
"""

from collections.abc import Mapping, Sequence
import os
from typing import Any

import numpy as np
from scipy import stats
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import json_records
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import exact_match

PREDICTIONS = 'predictions.jsonl'
RANKS = 'ranks.jsonl'


class Other:
  """The predictions in another run's --output_dir of `bin.evaluate`.

  Raises:
    UserError: There are no predictions, or their questions are others.
  """

  def __init__(
    self, directory: str, questions: Sequence[questions_lib.Question]
  ):
    path = os.path.join(directory, PREDICTIONS)
    if not tf.io.gfile.exists(path):
      raise errors.UserError(
        '--compare must be the --output_dir of a run of bin.evaluate with a '
        f'reader. Found no {path}. Check the path.'
      )
    rows = _read(path, questions)
    for where, row in rows:
      if not isinstance(row.get('prediction'), str):
        raise errors.UserError(
          f'{where} must have "prediction", a string. Found '
          f'{row.get("prediction")!r:.40}. Run bin.evaluate again.'
        )
    self.predictions = [row['prediction'] for _, row in rows]
    self.directory = directory
    self._questions = questions

  def compare(
    self, predictions: Sequence[str]
  ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns fields of metrics.json and rows of comparison.jsonl.

    The rows are the questions that only one run has right.
    """
    this = exact_match.per_question(predictions, self._questions).exact
    other = exact_match.per_question(self.predictions, self._questions).exact
    counts = {
      'exact_match': 100 * float(this.mean()),
      'other_exact_match': 100 * float(other.mean()),
      'both': int((this & other).sum()),
      'only_this': int((this & ~other).sum()),
      'only_other': int((other & ~this).sum()),
      'neither': int((~this & ~other).sum()),
      'p_value': p_value(this, other),
    }
    rows = [
      {
        'question': self._questions[i].question,
        'answers': list(self._questions[i].answers),
        'prediction': predictions[i],
        'other_prediction': self.predictions[i],
        'right': 'this' if this[i] else 'other',
      }
      for i in np.flatnonzero(this != other)
    ]
    return counts, rows


def as_text(counts: Mapping[str, Any]) -> str:
  """Formats the fields of a comparison in metrics.json as lines of text."""
  return (
    'exact match  this {exact_match:.1f}  other {other_exact_match:.1f}\n'
    'questions    both right {both}  only this {only_this}  '
    'only other {only_other}  neither {neither}\n'
    'McNemar      p = {p_value:.3g}'
  ).format(**counts)


def read_right(
  directory: str, questions: Sequence[questions_lib.Question], metric: str
) -> np.ndarray:
  """Returns whether an evaluation has each question right, bool [Q].

  `metric` is 'exact_match', or recall@k for a run without a reader.

  Raises:
    UserError: There is no such evaluation, or its questions are others.
  """
  if metric == 'exact_match':
    predictions = Other(directory, questions).predictions
    return exact_match.per_question(predictions, questions).exact
  path = os.path.join(directory, RANKS)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'An evaluation without a reader must have {RANKS}. Found no {path}. Run '
      'bin.evaluate again.'
    )
  k = int(metric.removeprefix('recall@'))
  rows = _read(path, questions)
  for where, row in rows:
    if not isinstance(row.get('answer_rank', ''), (int, type(None))):
      raise errors.UserError(
        f'{where} must have "answer_rank", a number or null. Found '
        f'{row.get("answer_rank", "none")!r:.40}. Run bin.evaluate again.'
      )
  ranks = [row['answer_rank'] for _, row in rows]
  return np.array([bool(rank) and rank <= k for rank in ranks])


def p_value(this: np.ndarray, other: np.ndarray) -> float:
  """Returns the exact two-sided p-value of McNemar's test.

  `this` and `other`, bool [Q], tell which questions two systems have right. If
  they are equal, each question that only one has right is a toss of a coin.
  """
  num = int((this != other).sum())
  only_this = int((this & ~other).sum())
  return float(stats.binomtest(only_this, num).pvalue) if num else 1.0


def _read(
  path: str, questions: Sequence[questions_lib.Question]
) -> list[tuple[str, dict[str, Any]]]:
  """Returns (place, object) of each line; UserError for other questions."""
  rows = list(json_records.read_lines(path))
  if len(rows) != len(questions):
    raise _other_questions(
      f'{len(rows)} in {path} where --questions have {len(questions)}'
    )
  for (where, row), question in zip(rows, questions):
    if row.get('question') != question.question:
      raise _other_questions(
        f'{row.get("question")!r:.60} in {where} where --questions have '
        f'{question.question!r:.60}'
      )
  return rows


def _other_questions(found: str) -> errors.UserError:
  return errors.UserError(
    f'--compare must name a run on the same questions, in order. Found {found}.'
    ' Run bin.evaluate on the same questions.'
  )
