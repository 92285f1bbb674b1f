"""Tests for realm_tf.modeling.islands: each against the plain formula."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.modeling import bert
from realm_tf.modeling import dropout
from realm_tf.modeling import islands
from tests import tiny

_EPSILON = 1e-12
# Of the largest element: bfloat16 has 8 bits, float32 24.
_TOLERANCES = (('float32', 2e-5), ('bfloat16', 2e-2))


def _random(*shapes):
  rng = np.random.default_rng(0)
  return [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]


def _gradients(function, values, weights):
  """Returns the outputs, and the gradients of their weighted sums."""
  with tf.GradientTape() as tape:
    tape.watch(values)
    outputs = tf.nest.flatten(function(*values))
    loss = sum(
      tf.reduce_sum(tf.cast(y, tf.float32) * w)
      for y, w in zip(outputs, weights, strict=True)
    )
  return outputs, tape.gradient(loss, values)


class IslandsTest(parameterized.TestCase):
  def _assert_like(self, actual, expected, tolerance):
    for one, other in zip(actual, expected, strict=True):
      one, other = (tf.cast(x, tf.float32).numpy() for x in (one, other))
      largest = np.abs(other).max()
      np.testing.assert_allclose(one, other, atol=tolerance * largest)

  @parameterized.product(kind=('relu', 'gelu', 'gelu_tanh'), dtype=_TOLERANCES)
  def test_activation_of_a_sum_with_a_bias(self, kind, dtype):
    dtype, tolerance = dtype
    config = tiny.config().model.reader_bert
    activation = bert.activation(
      type(config)(**{**vars(config), 'activation': kind})
    )
    x, bias, weight = _random([3, 5, 7], [7], [3, 5, 7])
    actual = _gradients(
      lambda x, b: islands.activate(activation)(tf.cast(x, dtype), b),
      [x, bias],
      [weight],
    )
    expected = _gradients(lambda x, b: activation(x + b), [x, bias], [weight])
    self.assertEqual(actual[0][0].dtype, dtype)
    for one, other in zip(actual, expected, strict=True):
      self._assert_like(one, other, tolerance)

  @parameterized.product(rate=(0.0, 0.4), dtype=_TOLERANCES)
  def test_normalized_sum_with_a_bias_and_dropout(self, rate, dtype):
    dtype, tolerance = dtype
    seed = tf.constant([3, 4]) if rate else None
    values = _random([3, 5, 8], [3, 5, 8], [8], [8], [8])
    weights = _random([3, 5, 8], [3, 5, 8])[::-1]

    def plain(states, x, bias, scale, offset):
      x = x + bias
      total = states + (dropout.drop(x, rate, seed) if rate else x)
      mean, variance = tf.nn.moments(total, -1, keepdims=True)
      y = (total - mean) / tf.sqrt(variance + _EPSILON) * scale + offset
      return y, y

    def ours(states, x, *rest):
      return islands.add_and_normalize(rate, _EPSILON)(
        states, tf.cast(x, dtype), *rest, seed
      )

    actual = _gradients(ours, values, weights)
    expected = _gradients(plain, values, weights)
    self.assertEqual([y.dtype for y in actual[0]], [tf.float32, dtype])
    for one, other in zip(actual, expected, strict=True):
      self._assert_like(one, other, tolerance)

  @parameterized.parameters(*_TOLERANCES)
  def test_softmax(self, dtype, tolerance):
    scores, weight = _random([2, 3, 9], [2, 3, 9])
    actual = _gradients(
      lambda x: islands.softmax(tf.cast(x, dtype)), [scores], [weight]
    )
    expected = _gradients(tf.nn.softmax, [scores], [weight])
    for one, other in zip(actual, expected, strict=True):
      self._assert_like(one, other, tolerance)


if __name__ == '__main__':
  absltest.main()
