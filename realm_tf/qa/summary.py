"""Values of each question -> means, 95 % intervals, categories and tables."""

from collections.abc import Iterable, Mapping, Sequence
import re
from typing import Any

import numpy as np

from realm_tf.corpus import questions as questions_lib

NUM_RESAMPLES = 1000
_LEVEL = 0.95
_CHUNK = 4_000_000  # Draws at once: 32 MB of indices and 32 MB of counts.
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


def bootstrap(
  values: np.ndarray, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> np.ndarray:
  """Returns 95 % intervals of the means, by the percentile bootstrap.

  Q questions are drawn with replacement, and all metrics share the draws (Efron
  and Tibshirani 1993, chapter 13). scipy.stats.bootstrap returns the same ends
  for a seed, but takes three times as long.

  Args:
    values: M metrics of Q >= 1 questions, [Q, M]; the result is [M, 2].
  """
  values = np.asarray(values, np.float64)
  num_questions = len(values)
  rng = np.random.default_rng(seed)
  step = max(1, _CHUNK // num_questions)
  sums = []
  for start in range(0, num_resamples, step):
    shape = min(step, num_resamples - start), num_questions
    drawn = rng.integers(num_questions, size=shape)
    drawn += np.arange(shape[0])[:, None] * num_questions
    # How often each question is drawn, [draws, Q].
    counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(shape)
    sums.append(counts.astype(np.float64) @ values)
  tail = (1 - _LEVEL) / 2
  resampled = np.concatenate(sums) / num_questions  # [R, M]
  return np.quantile(resampled, [tail, 1 - tail], axis=0).T


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
