r"""Prints the quickstart's table and writes it as results.json.

python -m bin.quickstart_results --run_dir=runs/quickstart

Recall is that before any question and after fine-tuning. Exact match comes with
its 95 % interval (bootstrap over questions), and with the p-value of McNemar's
exact test against REALM.
"""

import collections
import json
import os

from bin import evaluations
from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Run directory of launch/quickstart.sh.', required=True
)
_BEST = 'realm'
# Row -> retriever, and reader.
_ROWS = {
  _BEST: ('realm', 'realm'),
  'ict': ('ict', 'bert'),
  'bm25': ('bm25', 'bert'),
  'ict_realm': ('ict', 'realm'),
  'bm25_realm': ('bm25', 'realm'),
}
_RECALLS = ('recall@1', 'recall@5')


def _path(name):
  return os.path.join(_RUN_DIR.value, 'eval', name)


def _metrics(name):
  return evaluations.metrics(_path(name), 'launch/quickstart.sh')


def _seconds():
  """Returns the seconds of each stage; 'total' is added up over restarts."""
  seconds = collections.Counter()
  with tf.io.gfile.GFile(os.path.join(_RUN_DIR.value, 'seconds.txt')) as file:
    for line in file.read().splitlines():
      stage, secs = line.split()
      seconds[stage] += int(secs)
  return seconds


def _rows(questions):
  """Yields what is known of each retriever with each reader."""
  best = comparison.Other(_path(_BEST), questions).predictions
  for name, (retriever, reader) in _ROWS.items():
    metrics = _metrics(name)
    # BM25 learns nothing from questions.
    before = metrics if retriever == 'bm25' else _metrics(f'{retriever}_before')
    other = comparison.Other(_path(name), questions)
    yield {
      'retriever': retriever,
      'reader': reader,
      **{f'{column} before': before[column] for column in _RECALLS},
      **{column: metrics[column] for column in _RECALLS},
      'exact_match': metrics['exact_match'],
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
    print('  '.join(f'{cell:>15}' for cell in cells))
  print(f'Seconds: {json.dumps(seconds)}')
  path = os.path.join(_RUN_DIR.value, 'results.json')
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps({'rows': rows, 'seconds': seconds}, indent=1))


if __name__ == '__main__':
  launcher.run(main)
