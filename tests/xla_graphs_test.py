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


def _printed(x):
  tf.print(x)
  return x


class XlaGraphsTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda x: tf.matmul(x, x, transpose_b=True),),
    (lambda x: tf.nn.softmax(tf.cast(x, tf.bfloat16)),),
    (lambda x: tf.map_fn(tf.reduce_sum, x),),
    (lambda x: tf.where(x > 0, x, 0),),
  )
  def test_accepts_ops_of_a_tpu(self, function):
    self.assertEmpty(_problems(function, tf.ones([2, 3])))

  @parameterized.parameters(
    (_sines, 'PyFunc'),
    (lambda x: tf.py_function(np.sin, [x], tf.float32), 'EagerPyFunc'),
    (lambda x: tf.strings.as_string(x), 'AsString'),
    (lambda x: tf.where(x > 0), 'Where'),
    (lambda x: tf.boolean_mask(x, x > 0), 'Where'),
    (lambda x: tf.unique(tf.reshape(x, [-1]))[0], 'Unique'),
    (_printed, 'Print'),
    (lambda x: tf.as_string(x), 'a type that a TPU lacks'),
    (lambda x: next(iter(tf.data.Dataset.from_tensors(x))), 'Iterator'),
    (lambda x: tf.map_fn(_sines, x), 'map_while_body.*PyFunc'),
  )  # fmt: skip
  def test_finds_ops_that_a_tpu_lacks(self, function, op):
    self.assertRegex(' '.join(_problems(function, tf.ones([2, 3]))), op)

  def test_finds_sizes_that_are_not_static(self):
    found = _problems(lambda x: x + 1, tf.TensorSpec([None, 3]))
    self.assertRegex(' '.join(found), r'add \(AddV2\) .*not static.* -1 ')

  def test_records_and_compiles_functions(self):
    with xla_graphs.recorded() as functions:
      plain = tf.function(lambda x: x + 1)
      decorated = tf.function(reduce_retracing=True)(lambda x: x * 2)
    self.assertEqual([plain, decorated], functions)
    np.testing.assert_array_equal(plain(tf.ones([2])), [2, 2])
    self.assertLen(plain.graphs(), 1)
    self.assertIn('AddV2', str(plain.graphs()[0].as_graph_def()))
    self.assertEmpty(decorated.graphs())
    self.assertIn(
      'HloModule', plain.experimental_get_compiler_ir(tf.ones([2]))()
    )


if __name__ == '__main__':
  absltest.main()
