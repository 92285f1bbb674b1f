"""Tests for realm_tf.exchange.hugging_face_files."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.exchange import hugging_face_files
from realm_tf.model import weights


def _file(header, data=b''):
  text = header if isinstance(header, bytes) else json.dumps(header).encode()
  return len(text).to_bytes(8, 'little') + text + data


def _entry(dtype='F32', shape=(2,), offsets=(0, 8)):
  return {'dtype': dtype, 'shape': list(shape), 'data_offsets': list(offsets)}


class SafetensorsFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.path = os.path.join(self.directory, 'model.safetensors')

  def _write(self, data, name='model.safetensors'):
    with open(os.path.join(self.directory, name), 'wb') as file:
      file.write(data)

  def _open(self):
    return hugging_face_files.Tensors(self.directory)

  @parameterized.parameters(
    # The library knows more kinds.
    b'',
    _file(b'[]'),
    _file({'a': _entry(offsets=(0, 1 << 70))}, bytes(8)),
  )
  def test_refuses_headers_that_contradict_the_file(self, data):
    self._write(data)
    with self.assertRaisesRegex(errors.UserError, 'whole safetensors file'):
      self._open()

  def test_reads_each_type_as_float32(self):
    values = np.array([1.5, -2.0], np.float32)
    bfloat16 = (values.view(np.uint32) >> 16).astype('<u2')
    parts = {
      'F64': values.astype('<f8'),
      'F32': values,
      'F16': values.astype('<f2'),
      'BF16': bfloat16,
    }
    header, data = {}, b''
    for dtype, part in parts.items():
      begin, data = len(data), data + part.tobytes()
      header[dtype] = _entry(dtype, (2,), (begin, len(data)))
    self._write(_file(header, data))
    for name, array in self._open().items():
      np.testing.assert_array_equal(array, values, name)
      self.assertEqual(array.dtype, np.float32)

  def test_reads_only_requested_tensors(self):
    self._write(_file({'a': _entry('I64', (1,))}, bytes(8)))
    tensors = self._open()
    with self.assertRaisesRegex(errors.UserError, 'a of I64'):
      tensors['a']

  def test_metadata_gives_second_names(self):
    weights.write(
      {'a': np.ones(2, np.float32)}, self.path, {'b': 'a', 'c': 'x'}
    )
    tensors = self._open()
    self.assertEqual(set(tensors), {'a', 'b'})
    np.testing.assert_array_equal(tensors['b'], [1, 1])

  @parameterized.parameters(
    ('[]', 'JSON object'),
    ('{}', 'weight_map'),
    ('{"weight_map": {"a": 3}}', 'got `int` - at `[$].weight_map'),
    ('{"weight_map": {"a": "x.safetensors"}}', 'no .*x.safetensors'),
    ('{"weight_map": {}}', 'All parts'),
  )
  def test_refuses_a_malformed_index(self, text, found):
    self._write(text.encode(), 'model.safetensors.index.json')
    with self.assertRaisesRegex(errors.UserError, found):
      self._open()

  def test_refuses_a_tensor_in_two_parts(self):
    index = {'weight_map': {'a': '1.safetensors', 'b': '2.safetensors'}}
    self._write(json.dumps(index).encode(), 'model.safetensors.index.json')
    for name in index['weight_map'].values():
      self._write(_file({'a': _entry()}, bytes(8)), name)
    with self.assertRaisesRegex(errors.UserError, 'must be in one file'):
      self._open()

  def test_rows_are_read_by_slices(self):
    values = np.arange(12, dtype=np.float16).reshape(4, 3)
    weights.write({'a': values}, self.path)
    tensors = self._open()
    self.assertIsNone(tensors.rows('c'))
    rows = tensors.rows('a')
    self.assertLen(rows, 4)
    self.assertEqual(rows.shape, (4, 3))
    for start, stop in ((0, 3), (1, 2), (2, 4)):
      np.testing.assert_array_equal(rows[start:stop], values[start:stop])

  def test_remote_files_are_copied_first(self):
    values = np.ones([2, 3], np.float32)
    weights.write({'a': values}, self.path)
    path = f'file://{self.directory}'
    np.testing.assert_array_equal(
      hugging_face_files.Tensors(path).rows('a')[0:2], values
    )


if __name__ == '__main__':
  absltest.main()
