"""Tests for the head of realm_tf.model.bfloat16_layer."""

import tensorflow as tf
import tf_keras

from realm_tf.model import bert
from realm_tf.model import bfloat16_layer
from tests import tiny

_CONFIG = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=12, initializer_range=0.5
)
_GOLD = tf.constant([[3, 19, 3], [0, 7, 4]])  # 0 is padding.


class Bfloat16HeadTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf_keras.utils.set_random_seed(0)
    encoder = bert.build_encoder(_CONFIG)
    self.head = bert.build_masked_lm_head(encoder, _CONFIG)
    self.head.bias.assign(tf.random.normal([20]))
    self.states = tf.random.normal([2, 3, 8])
    self.lean = bfloat16_layer.Bfloat16Head(self.head)

  def _exact(self):
    logits = self.head(self.states, tf.constant([[0, 1, 2]] * 2))
    log_probs = -tf.nn.sparse_softmax_cross_entropy_with_logits(_GOLD, logits)
    return tf.where(_GOLD > 0, log_probs, 0.0)

  def test_log_probs_and_gradients_are_near_the_float32_head(self):
    variables = [*self.head.trainable_variables, self.head.embedding_table]
    results = []
    for compute in (lambda: self.lean(self.states, _GOLD), self._exact):
      with tf.GradientTape() as tape:
        tape.watch(self.states)
        log_probs = compute()
        loss = tf.reduce_sum(tf.sin(log_probs))
      sources = [self.states, *variables]
      results.append([log_probs, *tape.gradient(loss, sources)])
    for ours, exact in zip(*results, strict=True):
      self.assertEqual(ours.dtype, tf.float32)
      error = tf.linalg.norm(ours - exact) / tf.linalg.norm(exact)
      self.assertLess(float(error), 0.03)

  def test_an_impossible_token_has_a_finite_log_prob(self):
    self.head.bias.assign(tf.one_hot(5, 20) * 1000.0)
    log_probs = self.lean(self.states, _GOLD)
    # All tokens but 5 have a probability near e^-1000.
    expected = tf.where(_GOLD > 0, -1000.0, 0.0)
    self.assertAllClose(log_probs, expected, atol=20)

  def test_a_batch_of_padding_is_computed(self):
    log_probs = self.lean(self.states, tf.zeros_like(_GOLD))
    self.assertAllEqual(log_probs, tf.zeros([2, 3]))


if __name__ == '__main__':
  tf.test.main()
