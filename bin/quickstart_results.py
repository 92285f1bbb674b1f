r"""Prints the quickstart's table and writes it as results.json.

python -m bin.quickstart_results --run_dir=runs/quickstart
"""

import collections
import json
import os

from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf import errors

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Of launch/quickstart.sh.', required=True
)
# Row -> the evaluation without fine-tuning, and the one after it.
_ROWS = {
  'closed_book': ('eval/closed_book', 'eval/closed_book'),
  'bm25': ('eval/bm25', 'eval/bm25'),
  'ict': ('eval/ict_zero_shot', 'eval/ict'),
  'realm': ('eval/realm_zero_shot', 'eval/realm'),
}
_COLUMNS = ('recall@1', 'recall@5', 'exact_match', 'exact_match_one_block')


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


def main(_):
  rows = []
  for name, (zero_shot, tuned) in _ROWS.items():
    metrics = _metrics(tuned)
    rows.append(
      {
        'name': name,
        'zero_shot_recall@5': _metrics(zero_shot)['recall@5'],
        **{column: metrics[column] for column in _COLUMNS},
      }
    )
  seconds = _seconds()
  columns = list(rows[0])
  print('  '.join(f'{column:>18}' for column in columns))
  for row in rows:
    cells = [row['name']] + [f'{row[column]:.1f}' for column in columns[1:]]
    print('  '.join(f'{cell:>18}' for cell in cells))
  print(f'Seconds: {json.dumps(seconds)}')
  path = os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'rows': rows, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
