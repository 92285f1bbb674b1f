"""Compares evaluations: two runs question by question, and tables of systems.

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
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import records
from realm_tf.qa import outcome as outcome_lib

METRICS = 'metrics.json'
PREDICTIONS = 'predictions.jsonl'
RANKS = 'ranks.jsonl'
_RECALLS = [
  f'{prefix}recall@{k}' for prefix in ('span_', '') for k in (1, 5, 20)
]
_READING = ['exact_match', 'f1']
_COSTS = ['latency_ms_median', 'parameters', 'megabytes']
# Metric -> field of its intervals; McNemar tests a system's first metric.
_INTERVALS = {
  'exact_match': 'intervals',
  'recall@5': 'intervals',
  'span_recall@5': 'span_intervals',
}


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
    self.predictions = _read(path, questions, 'prediction', str, 'a string')
    self.directory = directory
    self._questions = questions

  def compare(
    self, predictions: Sequence[str]
  ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns fields of metrics.json and rows of comparison.jsonl.

    The rows are the questions that only one run has right.
    """
    this = outcome_lib.quality(predictions, self._questions).exact
    other = outcome_lib.quality(self.predictions, self._questions).exact
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


def p_value(this: np.ndarray, other: np.ndarray) -> float:
  """Returns the exact two-sided p-value of McNemar's test.

  `this` and `other`, bool [Q], tell which questions two systems have right. If
  they are equal, each question that only one has right is a toss of a coin.
  """
  num = int((this != other).sum())
  only_this = int((this & ~other).sum())
  return float(stats.binomtest(only_this, num).pvalue) if num else 1.0


def systems(
  eval_dirs: Mapping[str, str],
  questions: Sequence[questions_lib.Question],
  with_costs: bool = False,
) -> list[dict[str, Any]]:
  """Returns a row for each system: its cells by the name of the column.

  Args:
    eval_dirs: The --output_dir of bin.evaluate for each system's name.
    questions: Questions of all evaluations, for the p of McNemar's exact test
      against the first system; [] leaves p out.
    with_costs: Whether to add milliseconds, parameters and megabytes.
  """
  result = []
  first: dict[str, Any] = {}
  for name, folder in eval_dirs.items():
    path = os.path.join(folder, METRICS)
    if not tf.io.gfile.exists(path):
      raise errors.UserError(
        f'Every system must have an evaluation. Found no {path}. Run the launch'
        ' script again: it resumes.'
      )
    metrics = json_text.parse_object(
      input_files.read(path), path, 'Evaluate again.'
    )
    kinds = _RECALLS + _READING
    cells = {kind: metrics[kind] for kind in kinds if kind in metrics}
    kind = next((kind for kind in _INTERVALS if kind in metrics), None)
    if kind:
      cells['interval'] = metrics[_INTERVALS[kind]][kind]
    if kind and questions and _INTERVALS[kind] == 'intervals':
      right = read_right(folder, questions, kind)
      cells['p'] = p_value(right, first.setdefault(kind, right))
    if with_costs:
      cells |= {kind: metrics[kind] for kind in _COSTS}
    result.append({'system': name, **cells})
  return result


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
    return outcome_lib.quality(predictions, questions).exact
  path = os.path.join(directory, RANKS)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'An evaluation without a reader must have {RANKS}. Found no {path}. Run '
      'bin.evaluate again.'
    )
  kinds = int, type(None)
  ranks = _read(path, questions, 'answer_rank', kinds, 'a number or null')
  k = int(metric.removeprefix('recall@'))
  return np.array([bool(rank) and rank <= k for rank in ranks])


def _read(
  path: str,
  questions: Sequence[questions_lib.Question],
  field: str,
  kinds: Any,
  meaning: str,
) -> list[Any]:
  """Returns a field of each line; UserError for other questions or types."""
  rows = list(records.read_json_lines(path))
  found = ''
  if len(rows) != len(questions):
    found = f'{len(rows)} in {path} where --questions have {len(questions)}'
  for (where, row), question in zip(rows, questions):
    if not found and row.get('question') != question.question:
      found = (
        f'{row.get("question")!r:.60} in {where} where --questions have '
        f'{question.question!r:.60}'
      )
  if found:
    raise errors.UserError(
      '--compare must name a run on the same questions, in order. Found '
      f'{found}. Run bin.evaluate on the same questions.'
    )
  for where, row in rows:
    if not isinstance(row.get(field, ...), kinds):
      raise errors.UserError(
        f'{where} must have "{field}", {meaning}. Found '
        f'{row.get(field, "none")!r:.40}. Run bin.evaluate again.'
      )
  return [row[field] for _, row in rows]
