r"""Prints the quickstart's table and writes it as results.json.

python -m bin.quickstart_results --run_dir=runs/quickstart

Exact match comes with its 95 % interval (bootstrap over questions), and with
the p-value of McNemar's exact test against REALM.
"""

import collections
import json
import os

from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Run directory of launch/quickstart.sh.', required=True
)
# Row -> the evaluation without fine-tuning, and the one after it.
_ROWS = {
  'closed_book': ('eval/closed_book', 'eval/closed_book'),
  'bm25': ('eval/bm25', 'eval/bm25'),
  'ict': ('eval/ict_zero_shot', 'eval/ict'),
  'realm': ('eval/realm_zero_shot', 'eval/realm'),
}
_COLUMNS = ('recall@1', 'recall@5', 'exact_match_one_block', 'exact_match')


def _metrics(name):
  path = os.path.join(_RUN_DIR.value, name, 'metrics.json')
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'Every evaluation must be done. Found no {path}. Run '
      'launch/quickstart.sh again: it goes on where it stopped.'
    )
  with tf.io.gfile.GFile(path) as file:
    return json.loads(file.read())


def _seconds():
  """Returns the seconds of each stage; 'total' is added up over restarts."""
  seconds = collections.Counter()
  with tf.io.gfile.GFile(os.path.join(_RUN_DIR.value, 'seconds.txt')) as file:
    for line in file.read().splitlines():
      stage, secs = line.split()
      seconds[stage] += int(secs)
  return seconds


def _p_values():
  """Returns the evaluation's name -> McNemar's p against REALM's answers."""
  path = lambda name: os.path.join(_RUN_DIR.value, name)
  questions = questions_lib.read_questions(path('world/test_questions.jsonl'))
  best = comparison.Other(path('eval/realm'), questions).predictions
  return {
    name: comparison.Other(path(name), questions).compare(best)[0].p_value
    for _, name in _ROWS.values()
  }


def _rows():
  p_values = _p_values()
  for name, (zero_shot, tuned) in _ROWS.items():
    metrics = _metrics(tuned)
    yield {
      'name': name,
      'zero_shot_recall@1': _metrics(zero_shot)['recall@1'],
      'zero_shot_recall@5': _metrics(zero_shot)['recall@5'],
      **{column: metrics[column] for column in _COLUMNS},
      'interval': metrics['intervals']['exact_match'],
      'p_against_realm': p_values[tuned],
    }


def _cell(value):
  if isinstance(value, str):
    return value
  if isinstance(value, list):
    return '{:.1f} to {:.1f}'.format(*value)
  return f'{value:.1f}' if value > 1 or not value else f'{value:.2g}'


def main(_):
  rows, seconds = list(_rows()), _seconds()
  for cells in [rows[0], *(map(_cell, row.values()) for row in rows)]:
    print('  '.join(f'{cell:>18.18}' for cell in cells))
  print(f'Seconds: {json.dumps(seconds)}')
  path = os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'rows': rows, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
