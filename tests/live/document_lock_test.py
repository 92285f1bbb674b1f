"""Tests for realm_tf.live.document_log: one server for each log."""

import errno
import os
from unittest import mock

from absl.testing import absltest

from realm_tf import errors
from realm_tf.live import changes
from realm_tf.live import document_log

_CHANGE = changes.Change([], ['a'])


class DocumentLockTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.path = os.path.join(self.folder, 'log')

  def test_paths_that_are_not_local_files_are_refused(self):
    os.mkfifo(os.path.join(self.folder, 'fifo'))
    os.symlink('loop', os.path.join(self.folder, 'loop'))
    for name in ('fifo', 'loop', '', 'none/log', '/dev/full', 'n' * 300):
      with self.assertRaisesRegex(errors.UserError, '--documents_log must be'):
        document_log.DocumentLog(os.path.join(self.folder, name), 'corpus')

  def test_a_log_has_one_server(self):
    soft, hard = self.path + '.soft', self.path + '.hard'
    os.symlink(self.path, soft)
    log = document_log.DocumentLog(soft, 'corpus')
    os.link(self.path, hard)
    for other in (self.path, soft, os.path.relpath(self.path), hard):
      with self.assertRaisesRegex(errors.UserError, 'no other server uses'):
        document_log.DocumentLog(other, 'corpus')
    log.shorten(_CHANGE)
    with self.assertRaisesRegex(errors.UserError, 'no other server uses'):
      document_log.DocumentLog(self.path, 'corpus')
    log.close()
    self.assertTrue(os.path.islink(soft))
    again = document_log.DocumentLog(self.path, 'corpus')
    again.close()
    self.assertEqual(again.changes, [_CHANGE])

  def test_a_file_that_is_replaced_during_open_is_opened_again(self):
    lock, rounds = document_log._lock, []

    def replaced_before(file, path):
      if not rounds:
        os.replace(self.path, self.path + '.old')
      rounds.append(file)
      lock(file, path)

    with mock.patch.object(document_log, '_lock', replaced_before):
      file = document_log._open_locked(self.path)
    self.assertLen(rounds, 2)
    self.assertTrue(os.path.samestat(os.fstat(file), os.stat(self.path)))
    os.close(file)

  def test_a_file_system_without_locks_gives_a_warning(self):
    no_locks = OSError(errno.ENOLCK, 'No locks available')
    self.enter_context(
      mock.patch.object(document_log.fcntl, 'flock', side_effect=no_locks)
    )
    with self.assertLogs(level='WARNING') as logs:
      document_log.DocumentLog(self.path, 'corpus').close()
    self.assertIn('No locks available', logs.output[0])


if __name__ == '__main__':
  absltest.main()
