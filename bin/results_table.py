r"""Prints evaluations as a table, a row a system, and writes results.json.

python -m bin.results_table --run_dir=runs/quickstart --rows=realm,ict,bm25 \
    --questions=runs/quickstart/world/test_questions.jsonl

A row NAME is what bin.evaluate left in RUN_DIR/eval/NAME and, before the system
saw a question, in RUN_DIR/eval/NAME_before, if that is there. Exact match comes
with its 95 % interval (bootstrap over questions), and with the p-value of
McNemar's exact test against the first row.
"""

from collections.abc import Iterator, Mapping, Sequence
import json
import os
from typing import Any

from bin import evaluations
from bin import launcher
from bin import question_flags

from absl import flags
import tensorflow as tf

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Directory of a script with several systems.', required=True
)
_ROWS = flags.DEFINE_list(
  'rows', None, 'Systems; the first is compared with.', required=True
)
flags.mark_flag_as_required('questions')
_BEFORE = ('span_recall@5', 'recall@1', 'recall@5', 'recall@20')
_AFTER = ('recall@1', 'recall@5', 'exact_match', 'f1')
_NONE = '-'


def _path(name: str) -> str:
  return os.path.join(_RUN_DIR.value, 'eval', name)


def _rows(
  questions: Sequence[questions_lib.Question],
) -> Iterator[dict[str, Any]]:
  """Yields the cells of each system by the column's name."""
  first = None
  for name in _ROWS.value:
    metrics = evaluations.metrics(_path(name))
    other = comparison.Other(_path(name), questions)
    first = first or other.predictions
    before = {}
    if tf.io.gfile.exists(_path(f'{name}_before')):
      before = evaluations.metrics(_path(f'{name}_before'))
    yield {
      'system': name,
      **{f'{each} before': before.get(each, _NONE) for each in _BEFORE},
      **{each: metrics[each] for each in _AFTER},
      'interval': metrics['intervals']['exact_match'],
      'p': other.compare(first)[0].p_value,
    }


def _cell(value: Any) -> str:
  if isinstance(value, str):
    return value
  if isinstance(value, list):
    return '{:.1f} to {:.1f}'.format(*value)
  return f'{value:.1f}' if value > 1 or not value else f'{value:.2g}'


def _print(rows: Sequence[Mapping[str, Any]]) -> None:
  """Prints the columns that at least one row has."""
  names = [name for name in rows[0] if any(r[name] != _NONE for r in rows)]
  cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
  widths = [max(map(len, column)) for column in zip(*cells)]
  for row in cells:
    print('  '.join(f'{cell:>{width}}' for cell, width in zip(row, widths)))


def main(_):
  rows = list(_rows(question_flags.read()))
  seconds = evaluations.seconds(_RUN_DIR.value)
  _print(rows)
  print(f'Seconds: {json.dumps(seconds)}')
  path = os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'rows': rows, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
