"""Tests for realm_tf.model.dropout."""

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.model import dropout
from realm_tf.model import precision

_SEED = tf.constant([3, -4])
_SIZE = 256  # Two random masks are equal with probability 2^-256.


class DropoutTest(tf.test.TestCase):
  def test_drops_the_given_share_and_scales_the_rest(self):
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
    # Neighbouring seeds must not give the same mask, shifted.
    others += [np.roll(first, by) for by in (1, 2, 64, 192, 1024)]
    others += [np.roll(other, by) for other in others[:3] for by in (1, -1)]
    for other in others:
      # A mean of +-1 with standard deviation 1 / 256.
      self.assertAllClose(np.mean(first * other), 0.0, atol=5 / 256)

  def test_a_tpus_masks_are_the_same_without_constants(self):
    values = tf.random.normal([700, 33])
    expected = dropout.drop(values, 0.3, _SEED)
    with precision.planned_for_tpu():
      compiled = tf.function(dropout.drop, jit_compile=True)
      self.assertAllClose(compiled(values, 0.3, _SEED), expected)
      made = compiled.experimental_get_compiler_ir(values, 0.3, _SEED, None)
    # As a constant, the positions alone would take 4 * 700 * 33 bytes.
    self.assertLess(len(made(stage='hlo_serialized')), 90_000)

  def test_gradient_has_the_same_mask_as_the_values(self):
    values = tf.ones([100])
    with tf.GradientTape() as tape:
      tape.watch(values)
      dropped = dropout.drop(values, 0.5, _SEED)
    self.assertAllClose(tape.gradient(dropped, values), dropped)

  def test_rate_0_changes_nothing(self):
    values = tf.random.normal([5])
    self.assertAllEqual(dropout.drop(values, 0.0, _SEED), values)

  def test_seeds_come_from_the_innermost_source(self):
    with dropout.seeds_from(lambda: _SEED):
      self.assertAllEqual(dropout.draw_seed(), _SEED)
      with dropout.seeds_from(lambda: 2 * _SEED):
        self.assertAllEqual(dropout.draw_seed(), 2 * _SEED)
      self.assertAllEqual(dropout.draw_seed(), _SEED)
    self.assertNotAllEqual(dropout.draw_seed(), dropout.draw_seed())


class _Model(tf.Module):
  """Two dropout layers, one of them inside another layer."""

  def __init__(self):
    super().__init__()
    self.first = tf_keras.layers.Dropout(0.5)
    self.second = tf_keras.Sequential([tf_keras.layers.Dropout(0.5)])
    self()  # Building the Sequential calls its layer once.

  def __call__(self):
    ones = tf.ones([_SIZE])
    return tf.stack(
      [self.first(ones, training=True), self.second(ones, training=True)]
    )


class StepDropoutTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.model = _Model()
    self.dropout = dropout.StepDropout(self.model, seed=1)

  def _masks(self, step, *part):
    with self.dropout.at(tf.constant(step, tf.int64), *part):
      return self.model()

  def _masks_in_a_loop(self):
    return tf.map_fn(
      lambda part: self._masks(7, part),
      tf.range(3),
      fn_output_signature=tf.float32,
    )

  def _assert_differ(self, *masks):
    """Asserts that all rows of all masks differ."""
    rows = np.concatenate(masks)
    self.assertLen(np.unique(rows, axis=0), len(rows))

  def test_masks_depend_on_seed_step_part_and_order(self):
    masks = self._masks(7)
    self.assertAllEqual(self._masks(7), masks)
    self.assertAllEqual(self._masks(7, 0), masks)
    other = dropout.StepDropout(self.model, seed=2)
    with other.at(tf.constant(7)):
      of_other_seed = self.model()
    self._assert_differ(masks, self._masks(8), self._masks(7, 1), of_other_seed)

  def test_seeds_are_folded_from_one_of_step_replica_and_part(self):
    fold = lambda seed, number: tf.bitwise.bitwise_and(
      tf.random.experimental.stateless_fold_in(seed, number), tf.int32.max
    )
    with self.dropout.at(tf.constant(7), 3):
      found = [dropout.draw_seed() for _ in range(2)]
    start = fold(fold(tf.constant([1, 7]), 0), 3)
    self.assertAllEqual(found, [fold(start, 1), fold(start, 2)])

  def test_outside_at_keras_draws_the_masks(self):
    self._assert_differ(self.model(), self.model(), self._masks(7))

  def test_calls_after_a_nested_part_continue(self):
    with self.dropout.at(tf.constant(7)):
      ones = tf.ones([_SIZE])
      first = self.model.first(ones, training=True)
      self.assertAllEqual(self._masks(7, 3), self._masks(7, 3))
      second = self.model.second(ones, training=True)
    self.assertAllEqual(self._masks(7), [first, second])

  def test_two_passes_under_xla_have_the_same_masks(self):
    @tf.function(jit_compile=True)
    def passes():
      again = tf.stack([self._masks(7, part) for part in range(3)])
      return self._masks_in_a_loop(), again

    once, again = passes()
    self.assertAllEqual(once, again)
    self._assert_differ(*once)


if __name__ == '__main__':
  tf.test.main()
