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
_ROWS = ('realm', 'ict', 'bm25')
_NUMBERS = ('0', '100', '1000', 'all')  # Questions of fine-tuning.
_COLUMNS = ('recall@1', 'recall@5', 'exact_match')


def _path(name, number):
  return os.path.join(_RUN_DIR.value, 'eval', f'{name}_{number}')


def _metrics(name, number):
  path = os.path.join(_path(name, number), 'metrics.json')
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


def _rows(questions):
  """Yields what is known of each retriever after each number of questions."""
  for number in _NUMBERS:
    best = comparison.Other(_path(_ROWS[0], number), questions).predictions
    for name in _ROWS:
      metrics = _metrics(name, number)
      other = comparison.Other(_path(name, number), questions)
      yield {
        'questions': number,
        'name': name,
        **{column: metrics[column] for column in _COLUMNS},
        'interval': metrics['intervals']['exact_match'],
        'p_against_realm': other.compare(best)[0].p_value,
      }


def _cell(value):
  if isinstance(value, str):
    return value
  if isinstance(value, list):
    return '{:.1f} to {:.1f}'.format(*value)
  return f'{value:.1f}' if value > 1 or not value else f'{value:.2g}'


def main(_):
  path = os.path.join(_RUN_DIR.value, 'world', 'test_questions.jsonl')
  rows = list(_rows(questions_lib.read_questions(path)))
  seconds = _seconds()
  for cells in [rows[0], *(map(_cell, row.values()) for row in rows)]:
    print('  '.join(f'{cell:>15.15}' for cell in cells))
  print(f'Seconds: {json.dumps(seconds)}')
  path = os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'rows': rows, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
