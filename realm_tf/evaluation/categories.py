"""Metrics by wh-word and by type of answer, to show where a model is weak."""

from collections.abc import Mapping, Sequence
import re

import numpy as np

from realm_tf.corpus import questions as questions_lib

_WH_WORD = re.compile(
  r'\b(how (?:many|much)|how|who|whom|whose|what|when|where|which|why)\b'
)
_SAME = {'whom': 'who', 'whose': 'who', 'how much': 'how many'}
_MONTHS = 'january february march april may june july august september october'
_NUMBERS = (
  'zero one two three four five six seven eight nine ten eleven twelve hundred '
  'thousand million billion'
)
_NUMBER = re.compile(
  rf'\d|\b(?:{"|".join(_NUMBERS.split())})\b'
  rf'|\b(?:{"|".join(_MONTHS.title().split())}|November|December)\b'
)
_NAME = re.compile(r'\b[^\W\d_a-z]')

Categories = dict[str, dict[str, dict[str, float]]]


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
  return {
    'wh_word': _means([wh_word(q.question) for q in questions], values),
    'answer_type': _means([answer_type(q) for q in questions], values),
  }


def table(categories: Categories) -> str:
  """Returns the categories as text, one per line."""
  lines = []
  for kind, rows in categories.items():
    columns = list(next(iter(rows.values()), {}))
    headings = ''.join(f'{column:>15}' for column in columns)
    lines.append(f'{kind:<16}{headings}')
    for name, row in rows.items():
      cells = ''.join(
        f'{value:15d}' if isinstance(value, int) else f'{value:15.1f}'
        for value in row.values()
      )
      lines.append(f'  {name:<14}{cells}')
  return '\n'.join(lines)


def _means(
  labels: Sequence[str], values: Mapping[str, np.ndarray]
) -> dict[str, dict[str, float]]:
  names, label_of, counts = np.unique(
    labels, return_inverse=True, return_counts=True
  )
  means = {
    metric: np.bincount(label_of, weights=value) / counts
    for metric, value in values.items()
  }
  return {
    str(names[i]): {
      'num_questions': int(counts[i]),
      **{metric: 100 * float(mean[i]) for metric, mean in means.items()},
    }
    for i in np.argsort(-counts, kind='stable')
  }
