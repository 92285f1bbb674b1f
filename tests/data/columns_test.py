"""Tests for realm_tf.data.columns."""

from absl.testing import absltest
import numpy as np

from realm_tf.data import columns


class RowsTest(absltest.TestCase):
  def _column(self, rows, dtype=np.int32):
    directory = self.create_tempdir().full_path
    writer = columns.Writer(directory, 'x', dtype)
    make = columns.Rows.of_texts if dtype is np.uint8 else columns.Rows.of_ids
    writer.extend(make(rows[:1]))
    writer.extend(make(rows[1:]))
    writer.close()
    return columns.Rows.open(directory, 'x', dtype)

  def test_rows_come_back(self):
    column = self._column([[1, 2, 3], [], [4]])
    self.assertLen(column, 3)
    self.assertEqual(
      [column.row(i).tolist() for i in range(3)], [[1, 2, 3], [], [4]]
    )
    self.assertEqual(column.lengths().tolist(), [3, 0, 1])
    self.assertIsInstance(column.values, np.memmap)

  def test_gather_cuts_and_pads_and_gives_zeros_for_missing_rows(self):
    column = self._column([[1, 2, 3], [], [4]])
    np.testing.assert_array_equal(
      column.gather(np.array([[2, 0], [-1, 1]]), 2),
      [[[4, 0], [1, 2]], [[0, 0], [0, 0]]],
    )
    self.assertEqual(column.gather(np.array([0]), 2).dtype, np.int32)

  def test_gather_agrees_with_rows(self):
    rng = np.random.default_rng(0)
    rows = [rng.integers(1, 99, rng.integers(0, 9)) for _ in range(50)]
    column = self._column(rows)
    ids = rng.integers(0, 50, 200)
    expected = np.zeros((200, 5))
    for i, row in enumerate(ids):
      cut = rows[row][:5]
      expected[i, : len(cut)] = cut
    np.testing.assert_array_equal(column.gather(ids, 5), expected)

  def test_row_beyond_the_last_is_an_error(self):
    with self.assertRaises(IndexError):
      self._column([[1]]).gather(np.array([1]), 2)

  def test_text(self):
    column = self._column(['Zürich', '', '東京'], np.uint8)
    self.assertEqual([column.text(i) for i in range(3)], ['Zürich', '', '東京'])

  def test_empty_column(self):
    column = self._column([])
    self.assertEmpty(column)
    np.testing.assert_array_equal(
      column.gather(np.array([-1, -1]), 3), np.zeros((2, 3))
    )

  def test_header_grows_with_the_column(self):
    rows = [np.arange(1000, dtype=np.int32)] * 100
    column = self._column(rows)
    self.assertEqual(column.values.shape, (100_000,))
    self.assertEqual(column.row(99)[-1], 999)


if __name__ == '__main__':
  absltest.main()
