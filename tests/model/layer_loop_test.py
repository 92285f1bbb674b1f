"""Tests for realm_tf.model.layer_loop."""

from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.model import dropout
from realm_tf.model import layer_loop

_RATE = 0.25
_SEED = tf.constant([3, 4])
_B, _A, _M, _L, _D = 6, 2, 3, 5, 8


def _inputs():
  rng = np.random.default_rng(0)
  make = lambda *shape: tf.constant(rng.normal(size=shape), tf.float32)
  bias = np.where(np.arange(_L) < 4, 0, -1e9) * np.ones([_B, 1])
  return (
    *(make(_B, _A, size, _D) for size in (_M, _L, _L)),
    tf.constant(bias, tf.float32),
  )


def _exact(query, key, value, bias, seed):
  scores = tf.matmul(query, key, transpose_b=True) + bias[:, None, None]
  weight = tf.nn.softmax(scores)
  if seed is not None:
    weight = dropout.drop(weight, _RATE, seed)
  return weight @ value


def _in_bfloat16(query, key, value, bias, seed):
  half = [tf.cast(each, tf.bfloat16) for each in (query, key, value)]
  mixed = layer_loop.attend_in_chunks(*half, bias, _RATE, seed)
  return tf.cast(mixed, tf.float32)


def _with_gradients(function, seed):
  *sources, bias = _inputs()

  @tf.function
  def run():
    with tf.GradientTape() as tape:
      tape.watch(sources)
      mixed = function(*sources, bias, seed)
      loss = tf.reduce_sum(tf.sin(mixed))
    return mixed, *tape.gradient(loss, sources)

  return run()


class ChunkedAttentionTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(sequences=(1, 4, 6), seed=(None, _SEED))
  def test_results_and_gradients_are_near_the_exact_ones(self, sequences, seed):
    # Of 4 that fit, the 6 sequences take 3.
    most = sequences * 2 * _A * _M * _L
    with mock.patch.object(layer_loop, '_MOST_BYTES', most):
      found = _with_gradients(_in_bfloat16, seed)
    for one, other in zip(found, _with_gradients(_exact, seed), strict=True):
      self.assertAllClose(one, other, atol=0.05 * np.abs(other).max())

  def test_a_known_result_is_not_computed(self):
    *sources, bias = _inputs()
    half = [tf.cast(each, tf.bfloat16) for each in sources]
    known = tf.ones_like(half[0])
    mixed = layer_loop.attend_in_chunks(*half, bias, known=known)
    self.assertAllEqual(mixed, known)


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
