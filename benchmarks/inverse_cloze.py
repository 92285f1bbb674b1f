r"""A step of ICT at a large batch: memory and seconds, at once and in chunks.

  python -m benchmarks.inverse_cloze [--quick]

Each case has its own process: 2x128, the paper's vocabulary, random wordpieces
of full lengths, dropout, with update. `ours`: the process's peak memory.
`loaded_mb`: memory before the first step. `left_out`: MB that a batch at once
would need, by the two smaller batches, where that is more than --max_mb.
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
  'batch_sizes', ['512', '1024', '4096'], 'Batch sizes, ascending.'
)
_CHUNK_SIZE = flags.DEFINE_integer('chunk_size', 256, 'Pairs per chunk.')
_STEPS = flags.DEFINE_integer('steps', 2, 'Timed steps after a warm-up step.')
_MAX_MB = flags.DEFINE_integer('max_mb', 20_000, 'Most memory of a process.')
_QUICK = flags.DEFINE_boolean('quick', False, 'Batches of 32 and 64.')
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
  plain: dict[int, float] = {}  # Batch size -> peak.
  for size in [32, 64] if _QUICK.value else map(int, _BATCH_SIZES.value):
    expected = _expected_mb(plain, size)
    if expected > _MAX_MB.value:
      yield printing.row(f'batch {size}, at once', None, left_out=expected)
    else:
      figures = _run(size, 0)
      plain[size] = figures.pop('peak_mb')
      yield printing.row(f'batch {size}, at once', plain[size], **figures)
    chunk_size = 16 if _QUICK.value else _CHUNK_SIZE.value
    figures = _run(size, chunk_size)
    name = f'batch {size}, chunks of {chunk_size}'
    yield printing.row(name, figures.pop('peak_mb'), **figures)


def _expected_mb(plain: dict[int, float], batch_size: int) -> float:
  """Extrapolates the peak from the last two batches; 0 for unknown."""
  if len(plain) < 2:
    return 0.0
  (size, peak), (last_size, last_peak) = list(plain.items())[-2:]
  slope = (last_peak - peak) / (last_size - size)
  return last_peak + slope * (batch_size - last_size)


def main(_):
  if _CASE.value:
    print(json.dumps(_measure(*map(int, _CASE.value.split(',')))))
  else:
    unit = 'MB of memory at the peak'
    printing.print_rows('inverse_cloze', unit, _rows())


if __name__ == '__main__':
  app.run(main)
