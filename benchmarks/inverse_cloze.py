r"""A step of ICT at a large batch: memory and seconds, at once and in chunks.

  python -m benchmarks.inverse_cloze

Each case has its own process: 2x128, the paper's vocabulary, random wordpieces
of full lengths, dropout, with update. `ours`: the process's peak memory.
`loaded_mb`: memory before the first step.
"""

import itertools
import json
import subprocess
import sys
import time

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from benchmarks import processes
from benchmarks import sizes
from realm_tf import config as config_lib

_BATCH_SIZES = flags.DEFINE_list(
  'batch_sizes', ['512', '1024', '4096'], 'Batch sizes; 4,096 at once: 18 GB.'
)
_CHUNK_SIZE = flags.DEFINE_integer('chunk_size', 256, 'Pairs per chunk.')
_STEPS = flags.DEFINE_integer('steps', 2, 'Timed steps after a warm-up step.')
_CASE = flags.DEFINE_string('case', None, 'BATCH,CHUNK of a child process.')

_NUM_THREADS = 2
_LENGTHS = config_lib.LengthConfig(query_tokens=64, block_tokens=192)
_TITLE_TOKENS = 8


def _batch(size: int) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(0)
  texts = lambda length: rng.integers(
    sizes.FIRST_WORD, sizes.VOCAB_SIZE, [size, length], np.int32
  )
  return {
    'query_ids': texts(_LENGTHS.query_tokens - 2),
    'title_ids': texts(_TITLE_TOKENS),
    'body_ids': texts(_LENGTHS.block_tokens - _TITLE_TOKENS - 3),
  }


def _trainer(batch_size: int, chunk_size: int):
  from realm_tf.model import realm_model
  from realm_tf.training import inverse_cloze_trainer
  from realm_tf.training import optimizer as optimizer_lib

  config = config_lib.ModelConfig(embedder_bert=sizes.bert())
  trainer = inverse_cloze_trainer.InverseClozeTrainer(
    optimizer_lib.create(config_lib.InverseClozeConfig().optimizer),
    realm_model.RealmModel(config, [realm_model.EMBEDDER]),
    config_lib.InverseClozeConfig(chunk_size=chunk_size),
    lengths=_LENGTHS,
    special_ids=sizes.SPECIAL_IDS,
  )
  trainer.train_dataset = itertools.repeat(_batch(batch_size))
  trainer.seed_dropout(0)
  return trainer


def _measure(batch_size: int, chunk_size: int) -> dict[str, float]:
  import tensorflow as tf

  tf.config.threading.set_intra_op_parallelism_threads(_NUM_THREADS)
  trainer = _trainer(batch_size, chunk_size)
  loaded = processes.memory_mb('VmRSS')
  trainer.train(tf.constant(1))  # Compiles.
  begun = time.monotonic()
  trainer.train(tf.constant(_STEPS.value))
  return {
    'secs_a_step': (time.monotonic() - begun) / _STEPS.value,
    'peak_mb': processes.memory_mb('VmHWM'),
    'loaded_mb': loaded,
  }


def _run(batch_size: int, chunk_size: int) -> dict[str, float]:
  result = subprocess.run(
    [
      *(sys.executable, '-m', 'benchmarks.inverse_cloze'),
      *(f'--case={batch_size},{chunk_size}', f'--steps={_STEPS.value}'),
    ],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
  )
  return json.loads(result.stdout.splitlines()[-1])


def _rows():
  for size in map(int, _BATCH_SIZES.value):
    for chunk_size in (0, _CHUNK_SIZE.value):
      name = f'chunks of {chunk_size}' if chunk_size else 'at once'
      figures = _run(size, chunk_size)
      peak_mb = figures.pop('peak_mb')
      yield printing.row(f'batch {size}, {name}', peak_mb, **figures)


def main(_):
  if _CASE.value:
    print(json.dumps(_measure(*map(int, _CASE.value.split(',')))))
  else:
    unit = 'MB of memory at the peak'
    printing.print_rows('inverse_cloze', unit, _rows())


if __name__ == '__main__':
  app.run(main)
