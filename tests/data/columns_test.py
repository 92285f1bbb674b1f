"""Tests for realm_tf.data.columns."""

import io
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
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

  def test_gather_agrees_with_rows_and_has_zeros_for_missing_ones(self):
    rng = np.random.default_rng(0)
    rows = [rng.integers(1, 99, rng.integers(0, 9)) for _ in range(50)]
    found = self._column(rows).gather(ids := rng.integers(-1, 50, [99, 2]), 5)
    expected = np.zeros((99, 2, 5))
    for place in np.ndindex(ids.shape):
      cut = rows[ids[place]][:5] if ids[place] >= 0 else []
      expected[place][: len(cut)] = cut
    np.testing.assert_array_equal(found, expected)
    self.assertEqual((found.dtype, ids.min()), (np.int32, -1))

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
      tiny.assert_columns_equal(type(batch)(**columns.read_file(path)), batch)


def _npy(array) -> bytes:
  file = io.BytesIO()
  np.save(file, array)
  return file.getvalue()


_ARRAY = np.arange(6, dtype=np.int32).reshape(3, 2)
_GOOD = _npy(_ARRAY)


def _with_shape(shape: str) -> bytes:
  return _GOOD.replace(
    b'(3, 2), }' + b' ' * 9, f'({shape}), }}'.ljust(18).encode()
  )


class NpyFilesTest(parameterized.TestCase):
  def _open(self, data, dtype=np.int32, shape=(None, 2)):
    path = os.path.join(self.create_tempdir().full_path, 'x.npy')
    pathlib.Path(path).write_bytes(data)
    return columns.open_array(path, dtype, shape)

  @parameterized.parameters(
    (_ARRAY, (None, 2)),
    (_ARRAY, (3, 2)),
    (_ARRAY[:0], (0, 2)),
    (np.zeros([0], np.uint8), (None,)),
    (np.arange(3, dtype=np.uint64), (3,)),
  )
  def test_opens_arrays_written_by_numpy(self, array, shape):
    found = self._open(_npy(array), array.dtype, shape)
    self.assertIsInstance(found, np.memmap)
    self.assertEqual(found.dtype, array.dtype)
    np.testing.assert_array_equal(found, array)

  @parameterized.named_parameters(
    ('empty', b''),
    ('magic', b'\x93NUMPI' + _GOOD[6:]),
    ('version', _GOOD[:6] + b'\x03\x00' + _GOOD[8:]),
    ('header_cut', _GOOD[:50]),
    ('type', _npy(_ARRAY.astype(np.int64))),
    ('objects', _GOOD.replace(b'<i4', b'|O8')),
    ('pickle', _npy(np.array([[None, None]] * 3))),
    ('fortran', _npy(np.asfortranarray(_ARRAY))),
    ('negative', _with_shape('-3, 2')),
    ('huge', _with_shape(f'{10**9}, 2')),
    ('width', _npy(_ARRAY.reshape(2, 3))),
    ('rank', _npy(_ARRAY.ravel())),
    ('cut', _GOOD[:-1]),
    ('longer', _GOOD + b'\0'),
  )
  def test_damage_is_a_user_error(self, data):
    with self.assertRaisesRegex(errors.UserError, r'x.npy must be a .npy file'):
      self._open(data)

  def test_another_number_of_rows_and_no_file_are_user_errors(self):
    with self.assertRaisesRegex(errors.UserError, r'\[4, 2\]. Found: shape'):
      self._open(_GOOD, shape=(4, 2))
    with self.assertRaisesRegex(errors.UserError, 'must be a .npy file'):
      columns.open_array('/nowhere/x.npy', np.int32, [None])


if __name__ == '__main__':
  absltest.main()
