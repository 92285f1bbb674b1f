"""Evaluations of several systems -> a table with a row per system."""

from collections.abc import Mapping, Sequence
import os
from typing import Any

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison
from realm_tf.evaluation import open_qa

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


def rows(
  eval_dirs: Mapping[str, str],
  questions: Sequence[questions_lib.Question],
  with_costs: bool = False,
) -> list[dict[str, Any]]:
  """Returns each system's cells by the name of the column.

  Args:
    eval_dirs: The --output_dir of bin.evaluate for each system's name.
    questions: Questions of all evaluations, for the p of McNemar's exact test
      against the first system; [] leaves p out.
    with_costs: Whether to add milliseconds, parameters and megabytes.
  """
  result = []
  first: dict[str, Any] = {}
  for name, path in eval_dirs.items():
    metrics = _read_metrics(path)
    kinds = _RECALLS + _READING
    cells = {kind: metrics[kind] for kind in kinds if kind in metrics}
    for kind, intervals in _INTERVALS.items():
      if kind in metrics:
        cells['interval'] = metrics[intervals][kind]
        if questions and intervals == 'intervals':
          right = comparison.read_right(path, questions, kind)
          cells['p'] = comparison.p_value(right, first.setdefault(kind, right))
        break
    if with_costs:
      cells |= {kind: metrics[kind] for kind in _COSTS}
    result.append({'system': name, **cells})
  return result


def as_text(table: Sequence[Mapping[str, Any]]) -> str:
  """Returns the rows as aligned columns."""
  names = list(dict.fromkeys(name for row in table for name in row))
  cells = [names, *([_cell(row.get(n, '-')) for n in names] for row in table)]
  widths = [max(map(len, column)) for column in zip(*cells)]
  return '\n'.join(
    '  '.join(f'{cell:>{width}}' for cell, width in zip(row, widths))
    for row in cells
  )


def _read_metrics(eval_dir: str) -> dict[str, Any]:
  path = os.path.join(eval_dir, open_qa.METRICS)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'Every system must have an evaluation. Found no {path}. Run the launch '
      'script again: it resumes.'
    )
  return json_text.parse_object(input_files.read(path), path, 'Evaluate again.')


def _cell(value: Any) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, list):
    return '{:.1f} to {:.1f}'.format(*value)
  if isinstance(value, int):
    return f'{value:,}'
  return f'{value:.1f}' if value > 1 or not value else f'{value:.2g}'
