"""Tests for realm_tf.model.weights."""

import os

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.model import weights


def _variables():
  return [
    tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name='layer/kernel'),
    tf.Variable([0.1, -0.0, np.inf], name='layer/bias'),
    tf.Variable(7, name='step', dtype=tf.int64),
  ]


class WeightsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'x.safetensors')

  def test_round_trip_is_exact(self):
    weights.write(weights.values(_variables()), self.path)
    arrays = weights.read(self.path)
    self.assertEqual(sorted(arrays), ['layer/bias', 'layer/kernel', 'step'])
    for name, variable in weights.by_name(_variables()).items():
      self.assertEqual(arrays[name].dtype, variable.dtype.as_numpy_dtype)
      self.assertEqual(arrays[name].shape, tuple(variable.shape))
      self.assertEqual(arrays[name].tobytes(), variable.numpy().tobytes())

  def test_assign_matches_names_and_reports(self):
    variables = _variables()[:2]
    report = weights.assign(
      variables, {'layer/bias': np.array([7.0, 8.0, 9.0]), 'other': np.zeros(1)}
    )
    self.assertEqual(
      report, weights.LoadReport(['layer/bias'], ['layer/kernel'], ['other'])
    )
    self.assertAllClose(variables[1], [7.0, 8.0, 9.0])
    self.assertAllClose(variables[0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

  def test_swapped_axes_are_a_user_error_and_change_nothing(self):
    variables = _variables()[:2]
    with self.assertRaisesRegex(
      errors.UserError, r'layer/kernel .*\(2, 3\).*\(3, 2\)'
    ):
      weights.assign(
        variables, {'layer/bias': np.zeros(3), 'layer/kernel': np.zeros([3, 2])}
      )
    self.assertAllEqual(variables[1], _variables()[1])

  def test_other_and_truncated_files_are_a_user_error(self):
    weights.write(weights.values(_variables()), self.path)
    with open(self.path, 'rb') as file:
      whole = file.read()
    self.assertGreater(len(whole), 150)
    truncated = [whole[:size] for size in (0, 4, 20, 150)]
    for data in (*truncated, b'These are no weights at all.'):
      with open(self.path, 'wb') as file:
        file.write(data)
      with self.assertRaisesRegex(errors.UserError, 'x.safetensors must be'):
        weights.read(self.path)

  def test_missing_file_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'no file .*x.safetensors'):
      weights.read(self.path)

  def test_two_variables_with_one_name_are_an_error(self):
    with self.assertRaisesRegex(ValueError, 'named layer/kernel'):
      weights.by_name([*_variables(), *_variables()])

  def test_fingerprint_covers_names_shapes_and_values(self):
    same = weights.fingerprint(weights.values(reversed(_variables())))
    self.assertEqual(weights.fingerprint(weights.values(_variables())), same)
    kernel, bias, step = _variables()
    others = [
      [tf.Variable(kernel, name='layer/other'), bias, step],
      [
        tf.Variable(tf.reshape(kernel, [3, 2]), name='layer/kernel'),
        bias,
        step,
      ],
      [tf.Variable(kernel + 1e-6, name='layer/kernel'), bias, step],
      [kernel, bias],
    ]
    prints = [weights.fingerprint(weights.values(each)) for each in others]
    self.assertLen({same, *prints}, 5)


if __name__ == '__main__':
  tf.test.main()
