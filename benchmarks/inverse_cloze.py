r"""A step of ICT at a large batch: memory, seconds, and how exact chunks are.

  python -m benchmarks.inverse_cloze [--quick]

Each case is a process of its own: 2x128 with the paper's vocabulary, random
wordpieces of full lengths, dropout, update included. `ours` is the peak of the
process's memory, `loaded_mb` that before the first step. `difference` is the
largest one of a gradient without dropout from the same batch's at once,
relative to the largest number of that gradient.

A batch at once is left out where memory is too small, by what smaller ones
took: see `left_out`.
"""

import dataclasses
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any, Optional

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf
import tf_keras

from benchmarks import printing
from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training.inverse_cloze import inverse_cloze_trainer

_BATCH_SIZES = flags.DEFINE_list(
  'batch_sizes', ['512', '1024', '4096'], 'B; the smallest first.'
)
_CHUNK_SIZES = flags.DEFINE_list('chunk_sizes', ['256'], 'Beside 0.')
_STEPS = flags.DEFINE_integer('steps', 2, 'That are timed, after one more.')
_MAX_MB = flags.DEFINE_integer('max_mb', 20_000, 'What a process may take.')
_QUICK = flags.DEFINE_boolean('quick', False, 'Batches of 32 and 64.')
_CASE = flags.DEFINE_string('case', None, 'BATCH,CHUNK,FILE: of the child.')

_NUM_THREADS = 2
_SPECIAL_IDS = (101, 102)  # [CLS] and [SEP] of BERT's vocabularies.
_LENGTHS = config_lib.LengthConfig(query_tokens=64, block_tokens=192)
_TITLE_TOKENS = 8
_MODEL = config_lib.ModelConfig(
  embedder_bert=config_lib.BertConfig(
    vocab_size=30522,
    hidden_size=128,
    num_layers=2,
    num_heads=2,
    intermediate_size=512,
  )
)


def _memory_mb(field: str) -> float:
  """Returns VmRSS or VmHWM of this process."""
  for line in pathlib.Path('/proc/self/status').read_text().splitlines():
    if line.startswith(f'{field}:'):
      return int(line.split()[1]) / 1024
  raise ValueError(f'/proc/self/status lacks {field}.')


def _batch(size: int) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(0)
  texts = lambda length: rng.integers(1000, 30522, [size, length], np.int32)
  return {
    'query_ids': texts(_LENGTHS.query_tokens - 2),
    'title_ids': texts(_TITLE_TOKENS),
    'body_ids': texts(_LENGTHS.block_tokens - _TITLE_TOKENS - 3),
  }


def _trainer(rate: float, batch, chunk_size: int):
  """Returns a trainer of a model with dropout at a rate."""
  bert = dataclasses.replace(
    _MODEL.embedder_bert, dropout_rate=rate, attention_dropout_rate=rate
  )
  config = dataclasses.replace(_MODEL, embedder_bert=bert)
  trainer = inverse_cloze_trainer.InverseClozeTrainer(
    optimizer_lib.create(config_lib.InverseClozeConfig().optimizer),
    realm_model.RealmModel(config, [realm_model.EMBEDDER]),
    config_lib.InverseClozeConfig(chunk_size=chunk_size),
    lengths=_LENGTHS,
    special_ids=_SPECIAL_IDS,
  )
  trainer.train_dataset = itertools.repeat(batch)
  trainer.seed_dropout(0)
  return trainer


def _gradients(trainer, batch) -> dict[str, np.ndarray]:
  """Returns the gradients by the variables' number."""
  compute = tf.function(
    lambda parts: [
      tf.convert_to_tensor(each)
      for each in trainer.compute(parts)[2]
      if each is not None
    ]
  )
  values = compute({name: tf.constant(each) for name, each in batch.items()})
  return {f'{i}': value.numpy() for i, value in enumerate(values)}


def _measure(batch_size: int, chunk_size: int, path: str):
  """Prints the child's figures, and writes its gradients to `path`."""
  # Should memory run out after all, it is this process that has to go.
  pathlib.Path('/proc/self/oom_score_adj').write_text('1000')
  tf.config.threading.set_intra_op_parallelism_threads(_NUM_THREADS)
  tf_keras.utils.set_random_seed(0)  # The same weights in each process.
  batch = _batch(batch_size)
  trainer = _trainer(0.1, batch, chunk_size)
  loaded = _memory_mb('VmRSS')
  trainer.train(tf.constant(1))  # Compiles.
  begun = time.monotonic()
  trainer.train(tf.constant(_STEPS.value))
  figures = {
    'secs_a_step': (time.monotonic() - begun) / _STEPS.value,
    'peak_mb': _memory_mb('VmHWM'),
    'loaded_mb': loaded,
  }
  exact = _trainer(0.0, batch, chunk_size)
  rng = np.random.default_rng(1)
  for variable in exact.model.variables:
    if variable.shape.rank > 1:  # As trained ones: texts must differ.
      variable.assign(rng.normal(0, 0.1, variable.shape))
  np.savez(path, **_gradients(exact, batch))
  print(json.dumps(figures))


def _run(batch_size: int, chunk_size: int, path: str) -> dict[str, float]:
  """Measures a case in a process of its own."""
  result = subprocess.run(
    [
      *(sys.executable, '-m', 'benchmarks.inverse_cloze'),
      f'--case={batch_size},{chunk_size},{path}',
      f'--steps={_STEPS.value}',
    ],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
  )
  return json.loads(result.stdout.splitlines()[-1])


def _difference(path: str, expected_path: str) -> float:
  with np.load(path) as actual, np.load(expected_path) as expected:
    return max(
      float(np.abs(actual[name] - value).max() / _scale(value, expected))
      for name, value in expected.items()
    )


def _scale(value, expected) -> float:
  # What moves all scores alike, as a key's bias, has a gradient of 0 but for
  # rounding.
  floor = 1e-2 * max(np.abs(each).max() for each in expected.values())
  return max(np.abs(value).max(), floor)


def _rows(directory: str):
  plain: dict[int, float] = {}  # Batch size -> peak.
  for batch_size in ['32', '64'] if _QUICK.value else _BATCH_SIZES.value:
    batch_size = int(batch_size)
    at_once = os.path.join(directory, f'{batch_size}.npz')
    chunk_sizes = ['16'] if _QUICK.value else _CHUNK_SIZES.value
    for chunk_size in (0, *map(int, chunk_sizes)):
      name = f'batch {batch_size}, ' + (
        f'chunks of {chunk_size}' if chunk_size else 'at once'
      )
      if not chunk_size and _expected_mb(plain, batch_size) > _MAX_MB.value:
        left_out = _expected_mb(plain, batch_size)
        yield {**_row(name), 'left_out': left_out}
        continue
      path = os.path.join(directory, 'chunks.npz') if chunk_size else at_once
      figures = _run(batch_size, chunk_size, path)
      row = {**_row(name, figures.pop('peak_mb')), **figures}
      if not chunk_size:
        plain[batch_size] = row['ours']
      elif os.path.exists(at_once):
        row['difference'] = _difference(path, at_once)
      yield row


def _row(case: str, ours: Optional[float] = None) -> dict[str, Any]:
  return {'case': case, 'ours': ours, 'peer': None, 'ratio': None}


def _expected_mb(plain: dict[int, float], batch_size: int) -> float:
  """Returns the peak on a line through the last two batches; 0 for unknown."""
  if len(plain) < 2:
    return 0.0
  (size, peak), (last_size, last_peak) = list(plain.items())[-2:]
  slope = (last_peak - peak) / (last_size - size)
  return last_peak + slope * (batch_size - last_size)


def main(_):
  if _CASE.value:
    batch_size, chunk_size, path = _CASE.value.split(',', 2)
    _measure(int(batch_size), int(chunk_size), path)
    return
  with tempfile.TemporaryDirectory() as directory:
    printing.print_rows(
      'inverse_cloze', 'MB of memory at the peak', _rows(directory)
    )


if __name__ == '__main__':
  app.run(main)
