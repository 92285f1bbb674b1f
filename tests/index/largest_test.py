"""Tests for realm_tf.index.largest."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.index import largest


def _expected(scores, k):
  """Sorts whole rows."""
  order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
  return order, np.take_along_axis(scores, order, axis=1)


class LargestTest(parameterized.TestCase):
  # Groups of 32 columns: none, too few for k, and many with a remainder.
  @parameterized.parameters((20, 5), (100, 5), (1000, 5), (1000, 40), (7, 9))
  def test_equals_a_full_sort_with_ties_by_column(self, width, k):
    scores = np.random.default_rng(0).integers(0, 9, [8, width])
    scores = scores.astype(np.float32)
    for found, expected in zip(
      largest.of_rows(scores, k), _expected(scores, k)
    ):
      np.testing.assert_array_equal(found, expected)

  def test_rows_of_equal_and_of_missing_values(self):
    scores = np.zeros([2, 500], np.float32)
    scores[1] = -np.inf
    columns, values = largest.of_rows(scores, 3)
    np.testing.assert_array_equal(columns, [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(values, scores[:, :3])

  def test_no_number_comes_after_all_numbers(self):
    scores = np.arange(500, dtype=np.float32)[None]
    scores[0, ::2] = np.nan
    columns, _ = largest.of_rows(scores, 3)
    np.testing.assert_array_equal(columns, [[499, 497, 495]])

  def test_no_rows_and_no_columns(self):
    for shape in (0, 50), (2, 0):
      columns, values = largest.of_rows(np.zeros(shape, np.float32), 3)
      self.assertEqual(columns.shape, (shape[0], min(3, shape[1])))
      self.assertEqual(values.shape, columns.shape)


if __name__ == '__main__':
  absltest.main()
