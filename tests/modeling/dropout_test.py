"""Tests for realm_tf.modeling.dropout."""

import numpy as np
import tensorflow as tf

from realm_tf.modeling import dropout

_SEED = tf.constant([3, -4])


class DropoutTest(tf.test.TestCase):
  def test_drops_that_share_and_scales_the_others(self):
    dropped = dropout.drop(tf.ones([500, 400]), 0.25, _SEED).numpy()
    self.assertAllClose(np.unique(dropped), [0.0, 4 / 3])
    # 200,000 draws: the share's standard deviation is 0.001.
    self.assertAllClose(np.mean(dropped == 0), 0.25, atol=0.005)

  def test_elements_and_seeds_are_independent(self):
    shape = [1 << 16]
    first = dropout.drop(tf.ones(shape), 0.5, _SEED).numpy() - 1
    others = [
      dropout.drop(tf.ones(shape), 0.5, tf.constant(seed)).numpy() - 1
      for seed in ([3, -3], [4, -4], [0, 0])
    ]
    # Also the same mask, shifted: neighbouring seeds begin near each other.
    others += [np.roll(first, by) for by in (1, 2, 64, 192, 1024)]
    others += [np.roll(other, by) for other in others[:3] for by in (1, -1)]
    for other in others:
      # Of +-1: standard deviation 1 / 256.
      self.assertAllClose(np.mean(first * other), 0.0, atol=5 / 256)

  def test_a_seed_is_a_mask_compiled_or_not(self):
    values = tf.random.normal([7, 33])
    compiled = tf.function(dropout.drop, jit_compile=True)
    self.assertAllClose(
      dropout.drop(values, 0.3, _SEED), compiled(values, 0.3, _SEED)
    )

  def test_gradient_has_the_mask_of_the_values(self):
    values = tf.ones([100])
    with tf.GradientTape() as tape:
      tape.watch(values)
      dropped = dropout.drop(values, 0.5, _SEED)
    self.assertAllClose(tape.gradient(dropped, values), dropped)

  def test_rate_0_changes_nothing(self):
    values = tf.random.normal([5])
    self.assertAllEqual(dropout.drop(values, 0.0, _SEED), values)

  def test_seeds_come_from_the_innermost_source_that_has_one(self):
    with dropout.seeds_from(lambda: _SEED):
      self.assertAllEqual(dropout.draw_seed(), _SEED)
      with dropout.seeds_from(lambda: None):
        self.assertNotAllEqual(dropout.draw_seed(), dropout.draw_seed())
      self.assertAllEqual(dropout.draw_seed(), _SEED)
    self.assertNotAllEqual(dropout.draw_seed(), dropout.draw_seed())


if __name__ == '__main__':
  tf.test.main()
