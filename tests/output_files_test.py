"""Tests for realm_tf.output_files."""

import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf import output_files


class OutputFilesTest(absltest.TestCase):
  def test_checking_new_paths_creates_nothing(self):
    folder = self.create_tempdir().full_path
    output_files.check(os.path.join(folder, 'a', 'b'))
    output_files.check(os.path.join(folder, 'a', 'b.txt'), True)
    output_files.check('gs://bucket/b.txt', True)
    self.assertEmpty(os.listdir(folder))

  def test_a_path_below_a_file_is_a_user_error(self):
    file = self.create_tempfile().full_path
    for is_file in (False, True):
      path = os.path.join(file, 'a', 'b')
      with self.assertRaisesRegex(errors.UserError, f'^{path} must .*{file}:'):
        output_files.check(path, is_file)

  def test_a_directory_in_place_of_a_file_is_a_user_error(self):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(
      errors.UserError, f'^{folder} must be .*: Is a directory'
    ):
      output_files.check(folder, True)


if __name__ == '__main__':
  absltest.main()
