"""Tests for realm_tf.run.outputs."""

import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf.run import outputs


class OutputsTest(absltest.TestCase):
  def test_checking_new_paths_creates_nothing(self):
    folder = self.create_tempdir().full_path
    outputs.check_directory(os.path.join(folder, 'a', 'b'))
    outputs.check_file(os.path.join(folder, 'a', 'b.txt'))
    outputs.check_file('gs://bucket/b.txt')
    self.assertEmpty(os.listdir(folder))

  def test_a_path_below_a_file_is_a_user_error(self):
    file = self.create_tempfile().full_path
    for check in (outputs.check_directory, outputs.check_file):
      path = os.path.join(file, 'a', 'b')
      with self.assertRaisesRegex(errors.UserError, f'^{path} must .*{file}:'):
        check(path)

  def test_a_directory_in_place_of_a_file_is_a_user_error(self):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(errors.UserError, f'^{folder} must be a file'):
      outputs.check_file(folder)


if __name__ == '__main__':
  absltest.main()
