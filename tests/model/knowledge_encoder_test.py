"""Tests for realm_tf.model.knowledge_encoder."""

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.model import bert
from realm_tf.model import knowledge_encoder
from tests import tiny
from tests.model import one_hot_encoder

_CONFIG = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=12, initializer_range=0.5
)


class _TransitionHead(tf_keras.layers.Layer):
  """Row t of the table is p(y) after token t."""

  _LOGITS = np.log(
    [
      [1 / 4, 1 / 4, 1 / 4, 1 / 4],
      [1 / 8, 1 / 8, 1 / 4, 1 / 2],
      [1 / 2, 1 / 4, 1 / 8, 1 / 8],
      [1 / 16, 1 / 16, 3 / 8, 1 / 2],
    ]
  ).astype(np.float32)

  def call(self, states, positions):
    # A constant of 5 is added: without normalization, log p would be wrong.
    return 5 + tf.gather(states, positions, batch_dims=1) @ self._LOGITS


class HandComputedTest(tf.test.TestCase):
  def test_reads_the_gold_tokens_at_their_positions(self):
    layer = knowledge_encoder.KnowledgeEncoder(
      one_hot_encoder.OneHotEncoder(4), _TransitionHead()
    )
    # B = 1, K = 3, M = 2: position 2, gold 3, and position 0, gold 2.
    actual = layer(
      tiny.tokens([[[1, 2, 3], [2, 3, 1], [3, 1, 2]]]),
      tf.constant([[2, 0]]),
      tf.constant([[3, 2]]),
    )
    # p(3 | tokens 3, 1, 2) = 1/2, 1/2, 1/8; p(2 | tokens 1, 2, 3) = 1/4, 1/8,
    # 3/8.
    self.assertAllClose(
      tf.exp(actual), [[[1 / 2, 1 / 4], [1 / 2, 1 / 8], [1 / 8, 3 / 8]]]
    )

  def test_lean_replacements_are_used_only_in_training(self):
    lean = lambda tokens, positions, training: {
      'sequence_output': tf.one_hot(
        tf.gather(tokens['input_word_ids'], positions, batch_dims=1), 4
      )
    }
    layer = knowledge_encoder.KnowledgeEncoder(
      one_hot_encoder.OneHotEncoder(4),
      _TransitionHead(),
      lean,
      # p = gold token's number * state's number / 10.
      lambda states, gold: tf.math.log(
        tf.cast(gold * tf.argmax(states, -1, tf.int32), tf.float32) / 10
      ),
    )
    inputs = (
      tiny.tokens([[[1, 2, 3], [2, 3, 1]]]),
      tf.constant([[2, 0]]),
      tf.constant([[3, 2]]),
    )
    self.assertAllClose(
      tf.exp(layer(*inputs, training=True)), [[[0.9, 0.2], [0.3, 0.4]]]
    )
    self.assertAllClose(
      tf.exp(layer(*inputs)), [[[1 / 2, 1 / 4], [1 / 2, 1 / 8]]]
    )


class KnowledgeEncoderTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    encoder = bert.build_encoder(_CONFIG)
    self.layer = knowledge_encoder.KnowledgeEncoder(
      encoder, bert.build_masked_lm_head(encoder, _CONFIG)
    )
    rng = np.random.default_rng(0)
    self.ids = rng.integers(1, 20, [2, 3, 7])
    self.ids[0, 1, 5:] = 0
    self.positions = np.array([[1, 4], [2, 0]], np.int32)
    self.gold = np.array([[6, 7], [8, 9]], np.int32)

  def test_batch_agrees_with_one_pair_at_a_time(self):
    actual = self.layer(tiny.tokens(self.ids), self.positions, self.gold)
    for b, k in np.ndindex(2, 3):
      single = self.layer(
        tiny.tokens(self.ids[b : b + 1, k : k + 1]),
        self.positions[b : b + 1],
        self.gold[b : b + 1],
      )
      self.assertAllClose(single[0, 0], actual[b, k], atol=1e-5)


if __name__ == '__main__':
  tf.test.main()
