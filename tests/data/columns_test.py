"""Tests for realm_tf.data.columns."""

import os

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import query_table
from tests import tiny

_ARTICLES = [
  sources.Article('a b', 'A b. C d. E f. A a.', 'é 東'),
  sources.Article('', 'ü a.', '2'),
]
_QUERIES = [tiny.query([5, 6], [[0, 1], [1, 2]], 7, 'Zürich'), tiny.query([5])]


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


class BatchFilesTest(absltest.TestCase):
  def test_batches_come_back(self):
    for batch in (
      block_table.encode(tiny.cut(_ARTICLES)),
      block_table.encode([]),
      query_table.encode(_QUERIES),
      query_table.encode([]),
    ):
      path = os.path.join(self.create_tempdir(), 'batch')
      columns.write_file(batch._asdict(), path)
      self.assertEqual(os.listdir(os.path.dirname(path)), ['batch'])
      read = type(batch)(**columns.read_file(path))
      for got, want in zip(read, batch, strict=True):
        self.assertEqual(type(got), type(want))
        pairs = [(got, want)]
        if isinstance(got, columns.Rows):
          pairs = [(got.values, want.values), (got.offsets, want.offsets)]
        for got_array, want_array in pairs:
          np.testing.assert_array_equal(got_array, want_array)
          self.assertEqual(got_array.dtype, want_array.dtype)

  def test_queries_are_decoded(self):
    encoded = query_table.encode(_QUERIES)
    for i, want in enumerate(_QUERIES):
      got = encoded.query(i)
      np.testing.assert_array_equal(got.ids, want.ids)
      np.testing.assert_array_equal(got.spans, want.spans)
      self.assertEqual(got[2:], want[2:])


if __name__ == '__main__':
  absltest.main()
