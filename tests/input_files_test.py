"""Tests for realm_tf.input_files."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf import input_files


class InputFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'x')

  def test_reads_a_file_and_a_link_to_one(self):
    pathlib.Path(self.path).write_bytes(b'\xff')
    os.symlink(self.path, f'{self.path}.link')
    self.assertEqual(input_files.read(self.path), b'\xff')
    self.assertEqual(input_files.read(f'{self.path}.link'), b'\xff')

  @parameterized.named_parameters(
    ('missing', lambda path: None, 'no such file'),
    ('fifo', os.mkfifo, 'a FIFO'),
    ('directory', os.mkdir, 'a directory'),
    ('device', lambda path: os.symlink('/dev/zero', path), 'a device'),
    ('loop', lambda path: os.symlink(path, path), 'must be a readable'),
  )
  def test_other_kinds_of_files_are_user_errors(self, make, message):
    make(self.path)
    with self.assertRaisesRegex(errors.UserError, f'^{self.path}.*{message}'):
      input_files.read(self.path)

  def test_a_path_a_glob_or_a_prefix_of_files_exists(self):
    os.mkdir(self.path)
    pathlib.Path(self.path, 'model.index').touch()
    for item in ('', '/m*', '@test'):
      self.assertTrue(input_files.exist(f'beir:{self.path}{item}'), item)
    self.assertTrue(input_files.exist(f'tf1:{self.path}/model'))
    self.assertFalse(input_files.exist(f'hf:{self.path}/mod'))
    self.assertFalse(input_files.exist(f'{self.path}/n*'))
    for item in ('gs://bucket/run', 'tfds:wikipedia', 'terms'):
      self.assertTrue(input_files.exist(item))


if __name__ == '__main__':
  absltest.main()
