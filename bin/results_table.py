r"""Prints evaluations as tables, one row per system, and writes a JSON file.

python -m bin.results_table --run_dir=runs/quickstart \
    --rows=realm_0,ict_0,bm25_0 --rows=realm_all,ict_all,bm25_all \
    --questions=runs/quickstart/world/test_questions.jsonl

A row is the --output_dir RUN_DIR/eval/ROW of bin.evaluate; each --rows is a
table. Exact match, or recall@5 where nothing was read, has its 95 % interval
(bootstrap over questions) and p of McNemar's exact test against the first row.
"""

from collections.abc import Iterator, Mapping, Sequence
import json
import os
from typing import Any

from . import evaluations
from . import launcher
from . import question_flags

from absl import flags
import tensorflow as tf

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Run directory of a launch script.', required=True
)
_ROWS = flags.DEFINE_multi_string(
  'rows', None, 'Systems of a table, as a,b,c', required=True
)
flags.mark_flag_as_required('questions')
_OUTPUT = flags.DEFINE_string(
  'output', None, 'File to write; by default results.json of --run_dir.'
)
_TESTED_RECALL = 'recall@5'
_RECALLS = ('span_recall@5', 'recall@1', 'recall@5', 'recall@20')
_READING = ('exact_match', 'f1')
_COSTS = ('latency_ms_median', 'parameters', 'megabytes')
_WITH_COSTS = flags.DEFINE_bool(
  'costs', False, 'Adds milliseconds a question, parameters and megabytes.'
)


def _rows(
  names: Sequence[str], questions: Sequence[questions_lib.Question]
) -> Iterator[dict[str, Any]]:
  """Yields the cells of each system by the column's name."""
  first: dict[str, Any] = {}
  for name in names:
    path = os.path.join(_RUN_DIR.value, 'eval', name)
    metrics = evaluations.metrics(path)
    kinds = _RECALLS + (_READING if 'exact_match' in metrics else ())
    cells = {each: metrics[each] for each in kinds if each in metrics}
    tested = 'exact_match' if 'exact_match' in metrics else _TESTED_RECALL
    if tested in metrics:
      right = comparison.read_right(path, questions, tested)
      cells['interval'] = metrics['intervals'][tested]
      cells['p'] = comparison.p_value(right, first.setdefault(tested, right))
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


def main(_):
  questions = question_flags.read()
  tables = [list(_rows(rows.split(','), questions)) for rows in _ROWS.value]
  for table in tables:
    _print(table)
  seconds = evaluations.seconds(_RUN_DIR.value)
  print(f'Seconds: {json.dumps(seconds)}')
  path = _OUTPUT.value or os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'tables': tables, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
