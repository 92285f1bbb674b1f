"""Our pre-training steps, and how long they took.

Run by benchmarks/train_step.py, each in a process of its own:

  python -m benchmarks.own_train_step --what=step --size=2x128

Answers each line of its input with {"secs", "peak_mb"}: of a step, and of this
process so far. The line 'profile' is answered with what `step_profile` says of
some steps, with the arithmetic of a step's matmuls (`flops`) and what the
machine does at best in a second (`peak_flops`).
"""

import json
import pathlib
import re
import sys
import time

from absl import app
from absl import flags
import tensorflow as tf

from benchmarks import step_profile
from benchmarks import train_step_batch
from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.training import optimizer
from realm_tf.training.pretraining import pretraining_trainer

_WHAT = flags.DEFINE_enum(
  'what',
  'step',
  ['step', 'reader', 'reader with null'],
  "'step' is all that a step does; 'reader' leaves out towers and update.",
)
_SIZE = flags.DEFINE_string('size', '2x128', 'Layers x width.')
_RECOMPUTE = flags.DEFINE_bool(
  'recompute', False, 'Set model.recompute_activations.'
)
_DTYPE = flags.DEFINE_enum(
  'dtype', 'float32', ['float32', 'bfloat16'], 'Data type of matmuls.'
)
_THREADS = flags.DEFINE_integer('threads', 2, 'Threads of a matmul.')

_HEAD_WIDTH = {128: 64, 384: 32}  # As in the released small BERTs.


def _config() -> config_lib.ExperimentConfig:
  layers, width = map(int, _SIZE.value.split('x'))
  bert = config_lib.BertConfig(
    vocab_size=train_step_batch.VOCAB_SIZE,
    hidden_size=width,
    num_layers=layers,
    num_heads=width // _HEAD_WIDTH[width],
    intermediate_size=4 * width,
  )
  has_null = _WHAT.value != 'reader'
  return config_lib.ExperimentConfig(
    model=config_lib.ModelConfig(
      embedder_bert=bert,
      reader_bert=bert,
      train_dtype=_DTYPE.value,
      recompute_activations=_RECOMPUTE.value,
    ),
    lengths=train_step_batch.LENGTHS,
    pretraining=config_lib.PretrainingConfig(
      batch_size=train_step_batch.NUM_QUERIES,
      candidates='retrieved' if has_null else 'recurring_span',
    ),
  )


class _Reader(pretraining_trainer.PretrainingTrainer):
  """Without towers: as if the retriever had no opinion."""

  def _retrieval_scores(self, batch, parts, training):
    return tf.zeros(batch['body_ids'].shape[:2]), []


def _make_step():
  """Returns what runs one step."""
  config = _config()
  batch = train_step_batch.ours(has_null=_WHAT.value != 'reader')
  whole = _WHAT.value == 'step'
  parts = [realm_model.MASKED_LM] + [realm_model.EMBEDDER] * whole
  model = realm_model.RealmModel(config.model, parts)
  trainer = (pretraining_trainer.PretrainingTrainer if whole else _Reader)(
    optimizer.create(config.pretraining.optimizer),
    model,
    config,
    special_ids=train_step_batch.SPECIAL_IDS,
  )
  trainer.train_dataset = iter(lambda: batch, None)
  if whole:
    return lambda: trainer.train(tf.constant(1))
  compute = tf.function(trainer.compute)
  tensors = {name: tf.constant(value) for name, value in batch.items()}
  return lambda: compute(tensors)[0].numpy()


def _peak_mb() -> float:
  status = pathlib.Path('/proc/self/status').read_text()
  return int(re.search(r'VmHWM:\s+(\d+)', status)[1]) / 1024


def _timed(step):
  begun = time.monotonic()
  step()
  return {'secs': time.monotonic() - begun, 'peak_mb': _peak_mb()}


def _profiled(step):
  return {
    **step_profile.profile(step),
    'flops': _flops(),
    'peak_flops': step_profile.peak_flops(_DTYPE.value),
  }


def _flops() -> float:
  """Returns the matmuls' arithmetic of a step, forward and backward."""
  layers, width = map(int, _SIZE.value.split('x'))
  lengths = train_step_batch.LENGTHS
  queries, number = (
    train_step_batch.NUM_QUERIES,
    train_step_batch.NUM_CANDIDATES,
  )
  masked = lengths.max_masked
  has_null = _WHAT.value != 'reader'

  def encode(texts, length, read):
    """Query, key, value, output and 8 widths of feed-forward; attention."""
    whole = texts * length * (12 * width**2 + 2 * length * width)
    # Of the last layer only key and value for all positions.
    last = texts * (
      length * 2 * width**2 + read * (10 * width**2 + 2 * length * width)
    )
    return (layers - 1) * whole + last

  products = encode(
    queries * (number - has_null), lengths.joint_tokens, masked
  ) + queries * number * masked * width * (width + train_step_batch.VOCAB_SIZE)
  if has_null:
    products += encode(queries, lengths.query_tokens + 2, masked)
  if _WHAT.value == 'step':
    products += encode(queries, lengths.query_tokens, 1)
    products += encode(queries * (number - 1), lengths.block_tokens, 1)
  return 3 * 2 * products


def main(_):
  tf.config.threading.set_intra_op_parallelism_threads(_THREADS.value)
  step = _make_step()
  print(json.dumps(_timed(step)), flush=True)  # Traces.
  for line in sys.stdin:
    profiled = line.strip() == 'profile'
    answer = _profiled(step) if profiled else _timed(step)
    print(json.dumps(answer), flush=True)


if __name__ == '__main__':
  app.run(main)
