"""Values of each question -> means, 95 % intervals, categories and tables.

A table of systems is made of their evaluations. Means of two systems may differ
by chance: McNemar's exact test (1947) compares the numbers of questions that
only one of them has right.
"""

from collections.abc import Iterable, Mapping, Sequence
import os
import re
from typing import Any, Optional

import numpy as np
from scipy import stats

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import records
from realm_tf.qa import outcome as outcome_lib

METRICS = 'metrics.json'
PREDICTIONS = 'predictions.jsonl'
RANKS = 'ranks.jsonl'
RISK_COVERAGE = 'risk_coverage.jsonl'
_NUM_RESAMPLES = 1000
_LEVEL = 0.95
_CHUNK = 4_000_000  # Values drawn at once: 32 MB.
_WH_WORD = re.compile(
  r'\b(how (?:many|much)|how|who|whom|whose|what|when|where|which|why)\b'
)
_SAME = {'whom': 'who', 'whose': 'who', 'how much': 'how many'}
_NUMBER = re.compile(
  r'\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve'
  r'|hundred|thousand|million|billion|January|February|March|April|May|June'
  r'|July|August|September|October|November|December)\b'
)
_NAME = re.compile(r'\b[^\W\d_a-z]')

# Columns of a table of systems.
_QUALITY = [
  *(f'{prefix}recall@{k}' for prefix in ('span_', '') for k in (1, 5, 20)),
  'exact_match',
  'f1',
]
_COSTS = ['latency_ms_median', 'parameters', 'megabytes']
# Metric -> field of its intervals; McNemar tests a system's first metric.
_INTERVALS = {
  'exact_match': 'intervals',
  'recall@5': 'intervals',
  'span_recall@5': 'span_intervals',
}

Categories = dict[str, dict[str, dict[str, float]]]


def means(
  values: Mapping[str, np.ndarray], seed: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
  """Returns metric -> mean, and metric -> [lower end, upper end], in percent.

  `values` maps a metric to each question's value in [0, 1], [Q].
  """
  if not values:
    return {}, {}
  ends = bootstrap(np.stack(list(values.values()), axis=1), seed)
  return (
    {name: 100 * float(value.mean()) for name, value in values.items()},
    dict(zip(values, (100 * ends).tolist(), strict=True)),
  )


def bootstrap(values: np.ndarray, seed: int = 0) -> np.ndarray:
  """Returns 95 % intervals of the means, by the percentile bootstrap.

  Q questions are drawn with replacement, and all metrics share the draws (Efron
  and Tibshirani 1993, chapter 13).

  Args:
    values: M metrics of Q >= 1 questions, [Q, M]; the result is [M, 2].
  """
  values = np.asarray(values, np.float64)
  if len(values) == 1:  # scipy refuses it.
    return np.repeat(values.T, 2, axis=1)
  ends = stats.bootstrap(
    (values,),
    np.mean,
    n_resamples=_NUM_RESAMPLES,
    batch=max(1, _CHUNK // values.size),
    confidence_level=_LEVEL,
    method='percentile',
    rng=seed,
  ).confidence_interval
  return np.transpose(ends)


def wh_word(question: str) -> str:
  """Returns the first question word, such as 'how many'; 'other' for none."""
  found = _WH_WORD.search(question.lower())
  return _SAME.get(found.group(), found.group()) if found else 'other'


def answer_type(question: questions_lib.Question) -> str:
  """Returns 'number or date', 'name', 'other', 'pattern' or 'none'.

  The first reference decides: a digit, number word or month makes a number or
  date, else a capital a name. A regular expression is a 'pattern'; 'none' has
  no reference.
  """
  if question.regex:
    return 'pattern'
  if not question.answers:
    return 'none'
  answer = question.answers[0]
  if _NUMBER.search(answer):
    return 'number or date'
  return 'name' if _NAME.search(answer) else 'other'


def by_category(
  questions: Sequence[questions_lib.Question], values: Mapping[str, np.ndarray]
) -> Categories:
  """Returns each category's number of questions and means in percent.

  The keys are 'wh_word' or 'answer_type', category (the largest first), metric.
  `values` maps a metric to each question's value, [Q].
  """
  result: Categories = {}
  for kind, labels in (
    ('wh_word', [wh_word(each.question) for each in questions]),
    ('answer_type', [answer_type(each) for each in questions]),
  ):
    names, label_of, counts = np.unique(
      labels, return_inverse=True, return_counts=True
    )
    result[kind] = {}
    for i in np.argsort(-counts, kind='stable'):
      row: dict[str, float] = {'num_questions': int(counts[i])}
      for metric, value in values.items():
        # As a weighted count: a mean of some rows has other last digits.
        sums = np.bincount(label_of, weights=value)
        row[metric] = 100 * float(sums[i] / counts[i])
      result[kind][str(names[i])] = row
  return result


def category_table(categories: Categories) -> str:
  """Returns the categories as text, one per line."""
  return '\n'.join(
    table([{kind: name, **row} for name, row in rows.items()])
    for kind, rows in categories.items()
  )


def table(rows: Iterable[Mapping[str, Any]]) -> str:
  """Returns rows, column -> value, as aligned columns; '-' for no value."""
  rows = list(rows)
  names = list(dict.fromkeys(name for row in rows for name in row))
  cells = [names, *([_cell(row.get(n, '-')) for n in names] for row in rows)]
  widths = [max(map(len, column)) for column in zip(*cells)]
  return '\n'.join(
    '  '.join(f'{cell:>{width}}' for cell, width in zip(row, widths))
    for row in cells
  )


def _cell(value: Any) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, list):
    return '{:.1f} to {:.1f}'.format(*value)
  if isinstance(value, int):
    return f'{value:,}'
  return f'{value:.1f}' if value > 1 or not value else f'{value:.2g}'


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
    metrics = json_text.read_object(
      path, 'Evaluate the system: run the launch script again, it resumes.'
    )
    cells = {kind: metrics[kind] for kind in _QUALITY if kind in metrics}
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


def p_value(this: np.ndarray, other: np.ndarray) -> float:
  """Returns the exact two-sided p-value of McNemar's test.

  `this` and `other`, bool [Q], tell which questions two systems have right. If
  they are equal, each question that only one has right is a toss of a coin.
  """
  num = int((this != other).sum())
  only_this = int((this & ~other).sum())
  return float(stats.binomtest(only_this, num).pvalue) if num else 1.0


def read_right(
  directory: str, questions: Sequence[questions_lib.Question], metric: str
) -> np.ndarray:
  """Returns whether an evaluation has each question right, bool [Q].

  `metric` is 'exact_match', or recall@k for a run without a reader.

  Raises:
    UserError: There is no such evaluation, or its questions are others.
  """
  name, field, shape = RANKS, 'answer_rank', Optional[json_text.COUNT]
  if metric == 'exact_match':
    name, field, shape = PREDICTIONS, 'prediction', str
  path = os.path.join(directory, name)
  fields = {'question': str, field: shape}
  rows = [
    json_text.check(row, fields, where, 'Run bin.evaluate again.')
    for where, row in records.read_json_lines(path)
  ]
  if [row['question'] for row in rows] != [q.question for q in questions]:
    raise errors.UserError(
      'Systems must be evaluated on the same questions, in order. Found '
      f'{len(rows)} in {path} that are not the {len(questions)} of --questions.'
      ' Run bin.evaluate on the same questions.'
    )
  values = [row[field] for row in rows]
  if metric == 'exact_match':
    return outcome_lib.quality(values, questions).exact
  k = int(metric.removeprefix('recall@'))
  return np.array([bool(rank) and rank <= k for rank in values])
