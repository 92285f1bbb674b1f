"""Tests that a TPU can run each trainer's step, without a TPU.

Compiled by XLA, the step gives the losses and updates of the plain step, has no
op outside a TPU's list (tests/xla_graphs.py), and only static shapes. On a TPU
`Strategy.run` compiles the same step.
"""

import itertools

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.training import finetuning
from realm_tf.training import inverse_cloze_trainer
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import pretraining_trainer
from realm_tf.training import taggers
from tests import tiny
from tests import xla_graphs

_B, _K, _M = 4, 3, 2
_NUM_STEPS = 3
_SEED = 7


def _ids(*shape):
  """Returns zero-padded wordpieces, the same at each call."""
  rng = np.random.default_rng(shape)
  ids = rng.integers(5, tiny.TOKENIZER.vocab_size, shape)
  lengths = rng.integers(1, shape[-1] + 1, [*shape[:-1], 1])
  return np.where(np.arange(shape[-1]) < lengths, ids, 0).astype(np.int32)


def _config(embedder=None, **pretraining):
  """Returns a config with every kind of dropout."""
  bert = {
    'dropout_rate': 0.1,
    'attention_dropout_rate': 0.1,
    'vocab_size': tiny.TOKENIZER.vocab_size,
  }
  return tiny.config(
    model={
      'embedder_bert': bert,
      'reader_bert': bert,
      'embedder': embedder or {},
    },
    pretraining=pretraining,
  )


def _model(config, *parts):
  return realm_model.RealmModel(config.model, parts)


def _optimizer():
  return optimizer_lib.create(config_lib.OptimizerConfig(1e-2, 2 * _NUM_STEPS))


def _pretraining(config):
  trainer = pretraining_trainer.PretrainingTrainer(
    _optimizer(),
    _model(config, realm_model.MASKED_LM, realm_model.EMBEDDER),
    config,
    special_ids=tiny.SPECIAL_IDS,
  )
  bodies = _ids(_B, _K, 6)
  if config.pretraining.candidates == 'retrieved':
    bodies[:, 0] = 0  # The null block.
  is_real = np.ones([_B, _K], bool)
  is_real[0, -1] = False
  return trainer, {
    'query_ids': _ids(_B, 5),
    'masked_positions': np.tile(np.arange(_M, dtype=np.int32), [_B, 1]),
    'gold_ids': _ids(_B, _M),
    'token_mask': (_ids(_B, _M) > 0).astype(np.float32),
    'title_ids': _ids(_B, _K, 2),
    'body_ids': bodies,
    'is_real': is_real,
    'cloze_ids': np.stack([_ids(_B, 5)] * (_K - 1), axis=1),
    'candidate_ids': np.tile(np.arange(-1, _K - 1, dtype=np.int32), [_B, 1]),
  }


def _inverse_cloze(config):
  trainer = inverse_cloze_trainer.InverseClozeTrainer(
    _optimizer(),
    _model(config, realm_model.EMBEDDER),
    config.inverse_cloze,
    lengths=config.lengths,
    special_ids=tiny.SPECIAL_IDS,
  )
  return trainer, {
    'query_ids': _ids(_B, 4),
    'title_ids': _ids(_B, 2),
    'body_ids': _ids(_B, 7),
  }


def _finetuning(config):
  trainer = finetuning.FinetuningTrainer(
    _optimizer(),
    _model(config, realm_model.EMBEDDER, realm_model.SPAN),
    config,
    special_ids=tiny.SPECIAL_IDS,
  )
  rng = np.random.default_rng(0)
  num_read, width = config.finetuning.num_read, config.model.max_span_width
  vectors = rng.normal(size=[_B, 3, config.model.embedder.embedding_size])
  return trainer, {
    'question_ids': _ids(_B, 5),
    'is_compared': np.tile([True, True, False], [_B, 1]),
    'has_answer': np.tile([False, True, False], [_B, 1]),
    'read_rows': np.tile(np.arange(num_read, dtype=np.int32), [_B, 1]),
    'body_ids': _ids(_B, num_read, 7),
    'is_answer': rng.random([_B, num_read, 7, width]) < 0.3,
    'block_embeddings': vectors.astype(np.float32),
  }


def _tagger(config):
  trainer = taggers.TaggerTrainer(
    _optimizer(),
    taggers.TokenTagger(config.model.reader_bert, 3),
    tiny.SPECIAL_IDS,
  )
  labels = np.tile(np.array([0, 1, 2, -1, 0], np.int32), [_B, 1])
  return trainer, {'ids': _ids(_B, 5), 'label_ids': labels}


_CASES = {
  'pretraining_per_query_and_inverse_cloze': lambda: _pretraining(
    _config(inverse_cloze_weight=1.0)
  ),
  'pretraining_recurring_span_per_token': lambda: _pretraining(
    _config(objective='per_token', candidates='recurring_span')
  ),
  'inverse_cloze_pooled_shared_normalized': lambda: _inverse_cloze(
    _config({'head': 'pooled', 'shared_towers': True, 'normalize': True})
  ),
  'finetuning': lambda: _finetuning(_config()),
  'tagger': lambda: _tagger(_config()),
}


def _train(make):
  """Returns (losses, variables before, after) of a few steps, and the trainer.

  Two calls differ only in the compilation of the step.
  """
  tf_keras.utils.set_random_seed(_SEED)
  trainer, batch = make()
  trainer.seed_dropout(_SEED)
  trainer.train_dataset = itertools.repeat(batch)
  before = [variable.numpy() for variable in trainer.model.trainable_variables]
  losses = [trainer.train(tf.constant(1))['loss'] for _ in range(_NUM_STEPS)]
  after = [variable.numpy() for variable in trainer.model.trainable_variables]
  return losses, before, after, trainer


class TpuOpsTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(*_CASES.items())
  def test_a_tpu_can_run_the_step(self, make):
    with tiny.eagerly():
      expected = _train(make)
    with xla_graphs.recorded() as functions:
      actual = _train(make)

    # The same numbers. Each step has its own dropout, so its losses differ.
    self.assertAllClose(actual[0], expected[0], atol=1e-4, rtol=1e-4)
    self.assertLen(set(expected[0]), _NUM_STEPS)
    for values, expected_values in zip(actual[2], expected[2], strict=True):
      self.assertAllClose(values, expected_values, atol=1e-4, rtol=1e-4)
    moved = [
      np.abs(after - before).max() > 1e-3
      for before, after in zip(*expected[1:3], strict=True)
    ]
    self.assertTrue(any(moved))

    # One program with a TPU's ops and static shapes.
    trainer = actual[3]
    self.assertEqual(trainer.num_traces, 1)
    graphs = [graph for each in functions for graph in each.graphs()]
    self.assertLen(graphs, 1)
    self.assertGreater(xla_graphs.num_ops(graphs[0]), 200)
    self.assertEmpty(xla_graphs.problems(graphs[0]))

  def test_a_tpu_can_run_the_loops_of_a_step(self):
    changed = {'num_layers': 2}
    config = tiny.changed(
      _config(),
      model={
        'embedder_bert': changed,
        'reader_bert': changed,
        'train_dtype': 'bfloat16',
      },
    )
    with precision.planned_for_tpu():
      trainer, batch = _pretraining(config)
      step = tf.function(trainer.distributed_step)
      traced = step.get_concrete_function(
        {name: tf.constant(value) for name, value in batch.items()},
        tf.constant(0.0),
      )
    ops = {op.type for op in traced.graph.get_operations()}
    self.assertContainsSubset(['StatelessWhile'], ops)
    self.assertEmpty(xla_graphs.problems(traced.graph))


if __name__ == '__main__':
  tf.test.main()
