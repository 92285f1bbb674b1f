r"""Prints evaluations as tables, one row per system, and writes a JSON file.

python -m bin.results_table --run_dir=runs/quickstart \
    --rows=realm_0,ict_0,bm25_0 --rows=realm_all,ict_all,bm25_all \
    --questions=runs/quickstart/world/test_questions.jsonl

A row is the --output_dir RUN_DIR/eval/ROW of bin.evaluate; each --rows is a
table. Exact match, or recall@5 where nothing was read, has its 95 % interval
(bootstrap over questions) and, with --questions, p of McNemar's exact test
against the first row.
"""

import collections
from collections.abc import Iterator, Mapping, Sequence
import json
import os
from typing import Any

from . import launcher
from . import question_flags

from absl import flags
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison
from realm_tf.rundir import json_files

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Run directory of a launch script.', required=True
)
_ROWS = flags.DEFINE_multi_string(
  'rows', None, 'Systems of a table, as a,b,c', required=True
)
_OUTPUT = flags.DEFINE_string(
  'output', None, 'File to write; by default results.json of --run_dir.'
)
_WITH_COSTS = flags.DEFINE_bool(
  'costs', False, 'Adds milliseconds a question, parameters and megabytes.'
)
_RECALLS = [
  f'{prefix}recall@{k}' for prefix in ('span_', '') for k in (1, 5, 20)
]
_READING = ['exact_match', 'f1']
_COSTS = ['latency_ms_median', 'parameters', 'megabytes']
# Metric with an interval -> the intervals' key; the first metric of a row.
_INTERVALS = {
  'exact_match': 'intervals',
  'recall@5': 'intervals',
  'span_recall@5': 'span_intervals',
}


def _read_metrics(output_dir: str) -> dict[str, Any]:
  """Returns metrics.json in the --output_dir of bin.evaluate."""
  path = os.path.join(output_dir, 'metrics.json')
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'Every evaluation must be done. Found no {path}. Run the launch script '
      'again: it goes on where it stopped.'
    )
  return json_files.read_object(path, 'Evaluate again.')


def _rows(
  names: Sequence[str], questions: Sequence[questions_lib.Question]
) -> Iterator[dict[str, Any]]:
  """Yields the cells of each system by the column's name."""
  first: dict[str, Any] = {}
  for name in names:
    path = os.path.join(_RUN_DIR.value, 'eval', name)
    metrics = _read_metrics(path)
    kinds = _RECALLS + _READING
    cells = {each: metrics[each] for each in kinds if each in metrics}
    for tested, intervals in _INTERVALS.items():
      if tested in metrics:
        cells['interval'] = metrics[intervals][tested]
        if questions and intervals == 'intervals':
          right = comparison.read_right(path, questions, tested)
          cells['p'] = comparison.p_value(
            right, first.setdefault(tested, right)
          )
        break
    if _WITH_COSTS.value:
      cells |= {each: metrics[each] for each in _COSTS}
    yield {'system': name, **cells}


def _cell(value: Any) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, list):
    return '{:.1f} to {:.1f}'.format(*value)
  if isinstance(value, int):
    return f'{value:,}'
  return f'{value:.1f}' if value > 1 or not value else f'{value:.2g}'


def _print(rows: Sequence[Mapping[str, Any]]) -> None:
  """Prints the columns of the first row and of any other that has more."""
  names = list(dict.fromkeys(name for row in rows for name in row))
  cells = [names, *([_cell(row.get(n, '-')) for n in names] for row in rows)]
  widths = [max(map(len, column)) for column in zip(*cells)]
  for row in cells:
    print('  '.join(f'{cell:>{width}}' for cell, width in zip(row, widths)))
  print()


def _seconds() -> dict[str, int]:
  """Returns the seconds of each stage, summed over restarts."""
  result: collections.Counter[str] = collections.Counter()
  with tf.io.gfile.GFile(os.path.join(_RUN_DIR.value, 'seconds.txt')) as file:
    for line in file.read().splitlines():
      stage, secs = line.split()
      result[stage] += int(secs)
  return result


def main(_):
  questions = question_flags.read() if question_flags.are_given() else []
  tables = [list(_rows(rows.split(','), questions)) for rows in _ROWS.value]
  for table in tables:
    _print(table)
  seconds = _seconds()
  print(f'Seconds: {json.dumps(seconds)}')
  path = _OUTPUT.value or os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'tables': tables, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
