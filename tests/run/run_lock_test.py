"""Tests for realm_tf.run.run_lock."""

import errno
import fcntl
import os
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from realm_tf import errors
from realm_tf.run import outputs
from realm_tf.run import run_lock
from tests import source_tree

_HOLD = (
  'import sys; from realm_tf.run import run_lock; run_lock.hold(sys.argv[1]);'
  'print("held", flush=True); sys.stdin.read()'
)


class RunLockTest(absltest.TestCase):
  def test_a_second_process_is_refused_until_the_first_is_killed(self):
    directory = self.create_tempdir().full_path
    with subprocess.Popen(
      [sys.executable, '-c', _HOLD, directory],
      cwd=source_tree.ROOT,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
    ) as other:
      self.assertEqual(other.stdout.readline(), b'held\n')
      with self.assertRaisesRegex(errors.UserError, 'Only one training'):
        run_lock.hold(directory)
      with (
        self.assertRaisesRegex(errors.UserError, 'Only one job'),
        outputs.filling(directory),  # An export: the lock is no file of it.
      ):
        self.fail('Two jobs fill one directory.')
      other.kill()
      other.wait()
    with outputs.filling(directory):
      pass
    self.assertEmpty(os.listdir(directory))
    run_lock.hold(directory)
    run_lock.hold(directory)  # A resumed training of the same process.

  def test_a_file_system_without_locks_is_a_warning(self):
    directory = self.create_tempdir().full_path
    none = OSError(errno.ENOLCK, 'No locks available')
    with (
      mock.patch.object(fcntl, 'flock', side_effect=none),
      self.assertLogs(level='WARNING') as logs,
    ):
      run_lock.hold(directory)
    self.assertIn('No locks available', logs.output[0])

  def test_a_directory_of_other_code_is_told(self):
    directory = self.create_tempdir()
    with self.assertNoLogs(level='WARNING'):
      for _ in range(2):
        with run_lock.holding(directory.full_path, 'run'):
          pass
    directory.create_file('.lock', '0123456789abcdef ')
    with (
      self.assertNoLogs(level='WARNING'),  # An evaluation keeps no parts.
      run_lock.holding(directory.full_path, 'evaluation'),
    ):
      pass
    with (
      self.assertLogs(level='WARNING') as logs,
      run_lock.holding(directory.full_path, 'run'),
    ):
      pass
    self.assertIn('last written by other code', logs.output[0])
    with open(f'{directory.full_path}/.lock') as file:
      self.assertEqual(file.read(), run_lock.code())


if __name__ == '__main__':
  absltest.main()
