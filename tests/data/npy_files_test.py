"""Tests for realm_tf.data.npy_files."""

import io
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.data import npy_files


def _npy(array) -> bytes:
  file = io.BytesIO()
  np.save(file, array)
  return file.getvalue()


_ROWS = np.arange(6, dtype=np.int32).reshape(3, 2)
_GOOD = _npy(_ROWS)
_HEADER = "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }\n"


def _with_header(text: str) -> bytes:
  header = text.encode('latin-1')
  return (
    b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header
  ) + _ROWS.tobytes()


def _with_shape(shape: str) -> bytes:
  return _GOOD.replace(
    b'(3, 2), }' + b' ' * 9, f'({shape}), }}'.ljust(18).encode()
  )


class NpyFilesTest(parameterized.TestCase):
  def _open(self, data, dtype=np.int32, shape=(None, 2)):
    path = os.path.join(self.create_tempdir().full_path, 'x.npy')
    pathlib.Path(path).write_bytes(data)
    return npy_files.open_array(path, dtype, shape)

  @parameterized.parameters(
    (_ROWS, (None, 2)),
    (_ROWS, (3, 2)),
    (_ROWS[:0], (0, 2)),
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
    ('header_longer', _GOOD[:8] + b'\xff\xff' + _GOOD[10:]),
    ('no_dict', _with_header('[1, 2]\n')),
    ('brackets', _with_header('(' * 9000 + '\n')),
    ('key_missing', _with_header("{'descr': '<i4', 'shape': (3, 2), }\n")),
    ('descr', _with_header(str({'descr': 4, 'fortran_order': False}) + '\n')),
    ('type', _npy(_ROWS.astype(np.int64))),
    ('other_bytes', _npy(_ROWS.astype('>i4'))),
    ('objects', _GOOD.replace(b'<i4', b'|O8')),
    ('pickle', _npy(np.array([[None, None]] * 3))),
    ('fortran', _npy(np.asfortranarray(_ROWS))),
    ('negative', _with_shape('-3, 2')),
    ('huge', _with_shape(f'{10**9}, 2')),
    ('many_digits', _with_header(_HEADER.replace('3', '9' * 5000))),
    ('width', _npy(_ROWS.reshape(2, 3))),
    ('rank', _npy(_ROWS.ravel())),
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
      npy_files.open_array('/nowhere/x.npy', np.int32, [None])

  def test_checks_all_values_of_a_short_array_and_both_ends_of_a_long_one(self):
    values = np.zeros(100, np.int32)
    for place in (0, 50, 99):
      values[:] = 0
      values[place] = 7
      with self.assertRaisesRegex(errors.UserError, 'must be below 7'):
        npy_files.check_values(values, npy_files.within(0, 7), 'be below 7')
    with (
      mock.patch.object(npy_files, '_CHECKED_VALUES', 32),
      self.assertRaisesRegex(errors.UserError, 'rows 98 to 100'),
    ):
      npy_files.check_values(values, npy_files.within(0, 7), 'be below 7')


if __name__ == '__main__':
  absltest.main()
