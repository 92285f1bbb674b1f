"""Our pre-training steps for benchmarks/train_step.py, in their own process.

  python -m benchmarks.own_train_step WHAT SIZE DTYPE THREADS

WHAT is 'step', a whole step, or 'reader', without towers and update. Answers
each line "step" with {"secs", "peak_mb"}, and "peak" with the FLOP of a step's
matmuls and the machine's best FLOP per second.

The batch has 4 queries of 64 wordpieces with 8 candidates of 192 each, packed
to joint sequences of 192, without padding.
"""

import json
import sys
import time

import numpy as np

from benchmarks import processes
from benchmarks import sizes
from realm_tf import config as config_lib

_NUM_QUERIES, _NUM_CANDIDATES = 4, 8
_MASK_ID, _TITLE_TOKENS = 103, 8
_LENGTHS = config_lib.LengthConfig(
  query_tokens=64, block_tokens=192, joint_tokens=192, title_tokens=8
)


def own_batch(has_null: bool) -> dict[str, np.ndarray]:
  """Returns a `PretrainingTrainer`'s batch; a null block comes first."""
  rng = np.random.default_rng(0)
  words = lambda *shape: rng.integers(
    sizes.FIRST_WORD, sizes.VOCAB_SIZE, shape, dtype=np.int32
  )
  rows, query_width = (_NUM_QUERIES, _NUM_CANDIDATES), _LENGTHS.query_tokens - 2
  num_masked = _LENGTHS.max_masked
  positions = np.stack(
    [
      np.sort(rng.choice(query_width, num_masked, replace=False))
      for _ in range(_NUM_QUERIES)
    ]
  )
  query_ids = words(_NUM_QUERIES, query_width)
  gold_ids = np.take_along_axis(query_ids, positions, axis=1)
  np.put_along_axis(query_ids, positions, _MASK_ID, axis=1)
  titles = words(*rows, _TITLE_TOKENS)
  bodies = words(*rows, _LENGTHS.block_tokens - _TITLE_TOKENS - 3)
  if has_null:
    titles[:, 0] = bodies[:, 0] = 0
  return {
    'query_ids': query_ids,
    'masked_positions': positions.astype(np.int32),
    'gold_ids': gold_ids,
    'token_mask': np.ones([_NUM_QUERIES, num_masked], np.float32),
    'title_ids': titles,
    'body_ids': bodies,
    'is_real': np.ones(rows, bool),
  }


def peers_batch() -> dict[str, np.ndarray]:
  """Returns the batch of transformers' RealmKnowledgeAugEncoder."""
  batch = own_batch(has_null=False)
  cls_id, sep_id = sizes.SPECIAL_IDS
  shape = (_NUM_QUERIES, _NUM_CANDIDATES, _LENGTHS.joint_tokens)
  ids = np.full(shape, sep_id, np.int64)
  second = _LENGTHS.query_tokens
  ids[:, :, 0] = cls_id
  ids[:, :, 1 : second - 1] = batch['query_ids'][:, None]
  ids[:, :, second:-1] = batch['body_ids'][:, :, : shape[2] - second - 1]
  positions = batch['masked_positions'] + 1
  labels = np.zeros([_NUM_QUERIES, shape[2]], np.int64)
  np.put_along_axis(labels, positions, batch['gold_ids'], axis=1)
  types = np.broadcast_to(np.arange(shape[2]) >= second, shape)
  return {
    'input_ids': ids,
    'attention_mask': np.ones_like(ids),
    'token_type_ids': types.astype(np.int64),
    'labels': labels,
    'mlm_mask': (labels > 0).astype(np.int64),
    'relevance_score': np.zeros(shape[:2], np.float32),
  }


def _make_step(what: str, size: str, dtype: str):
  import tensorflow as tf

  from realm_tf.model import realm_model
  from realm_tf.training import optimizer
  from realm_tf.training import pretraining_trainer

  class Reader(pretraining_trainer.PretrainingTrainer):
    """A trainer without towers: all retrieval scores are equal."""

    def _retrieval_scores(self, batch, parts, training):
      return tf.zeros(batch['body_ids'].shape[:2]), []

  whole, bert = what == 'step', sizes.bert(size)
  config = config_lib.ExperimentConfig(
    model=config_lib.ModelConfig(
      embedder_bert=bert, reader_bert=bert, train_dtype=dtype
    ),
    lengths=_LENGTHS,
    pretraining=config_lib.PretrainingConfig(
      batch_size=_NUM_QUERIES,
      candidates='retrieved' if whole else 'recurring_span',
    ),
  )
  parts = [realm_model.MASKED_LM] + [realm_model.EMBEDDER] * whole
  trainer = (pretraining_trainer.PretrainingTrainer if whole else Reader)(
    optimizer.create(config.pretraining.optimizer),
    realm_model.RealmModel(config.model, parts),
    config,
    special_ids=sizes.SPECIAL_IDS,
  )
  batch = own_batch(has_null=whole)
  trainer.train_dataset = iter(lambda: batch, None)
  if whole:
    return lambda: trainer.train(tf.constant(1))
  compute = tf.function(trainer.compute)
  tensors = {name: tf.constant(value) for name, value in batch.items()}
  return lambda: compute(tensors)[0].numpy()


def _flops(what: str, size: str) -> float:
  """Returns the FLOP of a step's matmuls, forward and backward."""
  whole, masked = what == 'step', _LENGTHS.max_masked
  _, width = map(int, size.split('x'))
  joint = sizes.products(size, _LENGTHS.joint_tokens, masked)
  total = _NUM_QUERIES * (_NUM_CANDIDATES - whole) * joint
  head = masked * width * (width + sizes.VOCAB_SIZE)
  total += _NUM_QUERIES * _NUM_CANDIDATES * head
  if whole:
    query, blocks = _LENGTHS.query_tokens, _NUM_CANDIDATES - 1
    total += _NUM_QUERIES * sizes.products(size, query + 2, masked)
    total += _NUM_QUERIES * sizes.products(size, query)
    total += _NUM_QUERIES * blocks * sizes.products(size, _LENGTHS.block_tokens)
  return 3 * 2 * total


def main(what: str, size: str, dtype: str, threads: str) -> None:
  import tensorflow as tf

  tf.config.threading.set_intra_op_parallelism_threads(int(threads))
  step = _make_step(what, size, dtype)
  for line in sys.stdin:
    if json.loads(line) == 'peak':
      answer = {
        'peak_flops': sizes.peak_flops(dtype),
        'flops': _flops(what, size),
      }
    else:
      begun = time.monotonic()
      step()
      secs = time.monotonic() - begun
      answer = {'secs': secs, 'peak_mb': processes.memory_mb('VmHWM')}
    print(json.dumps(answer), flush=True)


if __name__ == '__main__':
  main(*sys.argv[1:])
