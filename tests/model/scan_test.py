"""Tests for realm_tf.model.layer_loop.scan."""

from absl.testing import parameterized
import tensorflow as tf

from realm_tf.model import layer_loop


class ScanTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(compiled=(False, True), backwards=(False, True))
  def test_values_lie_at_their_turns(self, compiled, backwards):
    def step(i, total):
      total += tf.cast(i, tf.float32)
      return total, [total, tf.fill([2], i)]

    specs = [tf.TensorSpec([]), tf.TensorSpec([2], tf.int32)]
    run = tf.function(
      lambda: layer_loop.scan(3, step, tf.constant(10.0), specs, backwards),
      jit_compile=compiled,
    )
    last, (totals, turns) = run()
    self.assertAllEqual(last, 13)
    self.assertAllEqual(totals, [13, 13, 12] if backwards else [10, 11, 13])
    self.assertAllEqual(turns, [[0, 0], [1, 1], [2, 2]])


if __name__ == '__main__':
  tf.test.main()
