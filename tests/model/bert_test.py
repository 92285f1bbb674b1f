"""Tests for realm_tf.model.bert."""

import dataclasses

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import bert
from tests import tiny

_CONFIG = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=12, initializer_range=0.5
)


def _dense(gradients):
  return [tf.convert_to_tensor(gradient) for gradient in gradients]


class BertTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.encoder = bert.build_encoder(_CONFIG)

  def test_cls_only_gives_the_same_cls(self):
    whole, short = (
      bert.build_encoder(_CONFIG, cls_only=cls_only)
      for cls_only in (False, True)
    )
    self.assertEqual(
      [v.name for v in whole.variables], [v.name for v in short.variables]
    )
    short.set_weights(whole.get_weights())
    tokens = tiny.tokens([[2, 7, 8, 3], [2, 9, 3, 0]])
    values, gradients = [], []
    for encoder in (whole, short):
      with tf.GradientTape() as tape:
        outputs = encoder(tokens)
        cls = outputs['sequence_output'][:, 0]
        loss = tf.reduce_sum(cls**3) + tf.reduce_sum(outputs['pooled_output'])
      values.append(cls)
      gradients.append(tape.gradient(loss, encoder.trainable_variables))
    self.assertEqual(short(tokens)['sequence_output'].shape, [2, 1, 8])
    self.assertAllClose(*values, rtol=1e-6, atol=1e-6)
    for ours, expected in zip(*map(_dense, gradients), strict=True):
      self.assertAllClose(ours, expected, rtol=1e-5, atol=1e-5)

  def test_vocabulary_size_is_required(self):
    with self.assertRaisesRegex(ValueError, 'vocab_size'):
      bert.build_encoder(config_lib.BertConfig())

  @parameterized.named_parameters(
    # At 1: 1/2 (1 + tanh(sqrt(2/pi) (1 + 0.044715))) = 0.841192, and
    # 1/2 (1 + erf(1 / sqrt(2))) = 0.841345.
    ('as_released', 'gelu_tanh', 0.841192),
    ('exact', 'gelu', 0.841345),
  )
  def test_activation(self, name, expected):
    config = config_lib.BertConfig(activation=name)
    self.assertAllClose(
      bert.activation(config)(tf.constant(1.0)), expected, rtol=1e-6
    )


class MaskedLmHeadTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.encoder = bert.build_encoder(_CONFIG)
    self.head = bert.build_masked_lm_head(self.encoder, _CONFIG)
    self.states = tf.random.normal([2, 6, 8])

  def test_head_is_tied_to_the_word_embeddings(self):
    positions = tf.constant([[0], [0]])
    before = self.head(self.states, positions)  # [B, 1, V]
    table = self.encoder.get_embedding_table()
    values = table.numpy()
    values[7] *= 2
    table.assign(values)
    # The output bias is 0 at first, so word 7's logit w_7 . h doubles.
    self.assertAllClose(
      self.head(self.states, positions),
      before * (1 + tf.one_hot(7, 20)),
      atol=1e-5,
    )


_MIMETIC = config_lib.BertConfig(
  vocab_size=300,
  hidden_size=64,
  num_layers=2,
  num_heads=2,
  intermediate_size=64,
  max_positions=12,
  initializer='mimetic',
)
_MASK = 4
_SENTENCE = [2, 17, _MASK, 3, 101, 250, 33, 3]


def _mean_rank(config, seed):
  """Returns the mean rank of _SENTENCE's wordpieces, each masked in turn."""
  tf_keras.utils.set_random_seed(seed)  # Keras draws from Python's random.
  encoder = bert.build_encoder(config)
  head = bert.build_masked_lm_head(encoder, config)
  states = encoder(tiny.tokens([_SENTENCE]))
  logits = head(states['sequence_output'], tf.constant([[2]]))[0, 0].numpy()
  ranks = np.argsort(np.argsort(-logits))
  return np.mean(ranks[sorted(set(_SENTENCE))])


class MimeticInitializationTest(tf.test.TestCase):
  def test_untrained_heads_prefer_tokens_of_the_block(self):
    normal = dataclasses.replace(_MIMETIC, initializer='truncated_normal')
    mimetic_rank, normal_rank = (
      np.mean([_mean_rank(config, seed) for seed in range(5)])
      for config in (_MIMETIC, normal)
    )
    self.assertLess(mimetic_rank, 75)  # 150 of 300 by chance.
    self.assertLess(mimetic_rank, 0.6 * normal_rank)

  def test_products_of_attention_are_near_the_identity(self):
    weights = {v.name: v.numpy() for v in bert.build_encoder(_MIMETIC).weights}
    for layer in range(_MIMETIC.num_layers):
      prefix = f'transformer/layer_{layer}/self_attention/'
      value, output, query, key = (
        next(w for name, w in weights.items() if prefix + end in name)
        for end in ('value/k', 'attention_output/k', 'query/k', 'key/k')
      )
      for left, right, scale in (
        (value.reshape(64, 64), output.reshape(64, 64), 1.0),
        (query.reshape(64, 64), key.reshape(64, 64).T, 0.25),
      ):
        product = left @ right
        self.assertAllClose(np.mean(np.diag(product)), scale, atol=0.05)
        off_diagonal = product - np.diag(np.diag(product))
        self.assertLess(np.std(off_diagonal), 0.1 * scale)


if __name__ == '__main__':
  tf.test.main()
