"""Tests for tests.xla_graphs."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import xla_graphs


def _problems(function, *args):
  return xla_graphs.problems(
    tf.function(function).get_concrete_function(*args).graph
  )


def _sines(x):
  return tf.numpy_function(np.sin, [x], tf.float32)


class XlaGraphsTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda x: tf.nn.softmax(tf.cast(x, tf.bfloat16)),),
    (lambda x: tf.map_fn(tf.reduce_sum, x),),
  )
  def test_accepts_ops_of_a_tpu(self, function):
    self.assertEmpty(_problems(function, tf.ones([2, 3])))

  @parameterized.parameters(
    (_sines, 'PyFunc'),
    (lambda x: tf.where(x > 0), 'Where'),
    (lambda x: tf.as_string(x), 'a type that a TPU lacks'),
    (lambda x: next(iter(tf.data.Dataset.from_tensors(x))), 'Iterator'),
    (lambda x: tf.map_fn(_sines, x), 'map_while_body.*PyFunc'),
  )  # fmt: skip
  def test_finds_ops_that_a_tpu_lacks(self, function, op):
    self.assertRegex(' '.join(_problems(function, tf.ones([2, 3]))), op)

  def test_finds_sizes_that_are_not_static(self):
    found = _problems(lambda x: x + 1, tf.TensorSpec([None, 3]))
    self.assertRegex(' '.join(found), r'add \(AddV2\) .*not static.* -1 ')


if __name__ == '__main__':
  absltest.main()
