"""Whole pre-training runs for tests: trainer and refresher as processes."""

import dataclasses
import json
import os

import numpy as np

from realm_tf.data import block_table
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import versions
from tests import forks
from tests import tiny
from tests.index import small

_LENGTHS = (5, 30, 12, 9, 20, 3) * 5  # 30 blocks.
_NUM_QUERIES = 40


class Runs:
  """Starts processes of runs in one new directory.

  Args:
    num_steps: Steps of each run.
    *settings: Fields of the config, in the form of --set.
  """

  def __init__(self, directory: str, num_steps: int, *settings: str):
    self.directory = directory
    self.corpus_dir = small.write_corpus(directory, _LENGTHS)
    self._queries_dir = _write_queries(directory, self.corpus_dir)
    self._config_file = _write_config(directory)
    log_dir = os.path.join(directory, 'logs')
    os.mkdir(log_dir)
    self.forks = forks.Forks(log_dir)
    self._settings = [
      f'--set={setting}'
      for setting in (
        'pretraining.jit_compile=false',
        'pretraining.pin_index=true',
        'pretraining.masking=random_span',
        'pretraining.batch_size=4',
        'pretraining.num_candidates=3',
        'pretraining.log_every_steps=1',
        'pretraining.optimizer.learning_rate=0.01',
        f'pretraining.optimizer.num_steps={num_steps}',
        *settings,
      )
    ]

  def start_trainer(self, name: str, *flags: str) -> int:
    """Starts a trainer on the run `name`; returns its process number."""
    return self.forks.start(
      'pretrain',
      f'--config={self._config_file}',
      f'--corpus_dir={self.corpus_dir}',
      f'--queries_dir={self._queries_dir}',
      f'--run_dir={self.run_dir(name)}',
      *self._settings,
      *flags,
    )

  def start_refresher(self, name: str) -> int:
    """Starts a refresher on the run `name`; returns its process number."""
    return self.forks.start(
      'refresh_index',
      f'--run_dir={self.run_dir(name)}',
      f'--corpus_dir={self.corpus_dir}',
      '--poll_secs=0.05',
    )

  def run_dir(self, name: str) -> str:
    return os.path.join(self.directory, name)

  def rows(self, name: str) -> list[dict[str, float]]:
    """Returns the rows of a run's metrics so far."""
    path = layout.metrics_file(self.run_dir(name))
    if not os.path.exists(path):
      return []
    with open(path) as file:
      # The last line may be half written.
      return [json.loads(line) for line in file if line.endswith('\n')]

  def losses(self, name: str) -> dict[int, float]:
    """Returns the losses by step."""
    return {row['step']: row['loss'] for row in self.rows(name)}

  def fingerprint(self, name: str) -> str:
    """Returns the fingerprint of the last parameters."""
    newest = versions.newest(layout.params_root(self.run_dir(name)))
    return manifests.read(newest.path, versions.KIND)['params_fingerprint']


def _write_config(directory):
  path = os.path.join(directory, 'small.py')
  tree = dataclasses.asdict(small.CONFIG)
  with open(path, 'w') as file:
    file.write(
      'from realm_tf import config\n'
      'from realm_tf.config import config_files\n'
      f'CONFIG = config_files.merge(config.ExperimentConfig(), {tree!r})\n'
    )
  return path


def _write_queries(directory, corpus_dir):
  rng = np.random.default_rng(1)
  return tiny.write_queries(
    directory,
    (
      tiny.query(rng.integers(5, 20, rng.integers(4, 14)))
      for _ in range(_NUM_QUERIES)
    ),
    'random_span',
    block_table.BlockTable.open(corpus_dir),
  )
