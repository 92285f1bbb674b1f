"""Tests for realm_tf.exchange.block_texts."""

import builtins
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.exchange import block_texts

_HEADER = (
  b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, "
  b"'shape': (1,), }"
).ljust(127) + b'\n'
# A pickle that calls os.system('touch FILE'), and one that makes an array.
_CALL = b'\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04%s\x85R.'
_RECONSTRUCT = (
  b'\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85'
  b'C\x01b\x87R'
)


def _array(texts):
  array = np.empty(len(texts), object)
  array[:] = texts
  return array


class ObjectArrayTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'texts.npy')

  def _write(self, data):
    with open(self.path, 'wb') as file:
      file.write(data)

  def _assert_refused(self, message):
    with self.assertRaisesRegex(errors.UserError, message):
      list(block_texts.read_array(self.path))

  @parameterized.parameters(1, 2, 999, 1000, 1001, 2500)
  def test_reads_files_of_numpy(self, count):
    # Texts of more than 255 bytes, and more than 64 KiB.
    texts = [(b'%d ' % i) * (i % 200 + 1) for i in range(count)]
    texts[-1] = b'x' * 70_000
    np.save(self.path, _array(texts), allow_pickle=True)
    self.assertEqual(list(block_texts.read_array(self.path)), texts)

  def test_a_shape_of_more_texts_than_bytes_is_refused(self):
    np.save(self.path, _array([b'a', b'b']), allow_pickle=True)
    with open(self.path, 'rb') as file:
      data = file.read()
    self._write(data.replace(b'(2,), }      ', b'(999999,), } '))
    self._assert_refused('999999')

  @parameterized.named_parameters(
    ('a_function', _CALL % b'true'),
    ('a_global', b'\x80\x02cposix\nsystem\n.'),
    ('builtins', b'\x80\x04cbuiltins\neval\n.'),
    ('an_instance', b'\x80\x02(ios\nsystem\n.'),
    ('only_an_array', _RECONSTRUCT + b'.'),
    ('no_text', b'\x80\x02](K\x01e.'),
    ('nothing', b''),
    ('a_huge_text', b'\x80\x04\x8e' + b'\xff' * 7 + b'\x7f'),
  )
  def test_other_content_is_refused_and_never_run(self, program):
    self._write(_HEADER + program)
    reached = []
    own = {name: getattr(builtins, name) for name in ('eval', 'exec')}
    with (
      absltest.mock.patch.object(os, 'system', reached.append),
      absltest.mock.patch.multiple(
        builtins, **{name: reached.append for name in own}
      ),
    ):
      self._assert_refused('must be an array of texts')
    self.assertEmpty(reached)

  def test_a_cut_off_file_is_refused(self):
    np.save(self.path, _array([b'a' * 300, b'b' * 300]), allow_pickle=True)
    with open(self.path, 'r+b') as file:
      file.truncate(os.path.getsize(self.path) - 200)
    self._assert_refused('Give the release.s blocks.tfr as --blocks')

  def test_other_arrays_are_refused(self):
    np.save(self.path, np.zeros([2, 2]))
    self._assert_refused('<f8')
    for texts in ([b'a', 'b'], [b'the same'] * 2):  # Another type, one object.
      np.save(self.path, _array(texts), allow_pickle=True)
      self._assert_refused('1 texts and shape')


if __name__ == '__main__':
  absltest.main()
