"""Tests for realm_tf.serving.changes: the database of documents."""

import os
import resource
import signal
import subprocess
import sys

from absl.testing import absltest

from realm_tf import errors
from realm_tf.serving import changes

_A = changes.Document('a', 'Títle', 'Line one.\nLine two.')
_B = changes.Document('b', 'B', 'Text.')
# Writes changes and prints the number of each, until a kill.
_WRITER = """
import sys
from realm_tf.serving import changes
log = changes.DocumentLog(sys.argv[1], 'corpus')
for i in range(10**9):
  log.write([changes.Change([], [f'{i}a']), changes.Change([], [f'{i}b'])])
  print(i, flush=True)
"""


class DocumentLogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.path = os.path.join(self.folder, 'log')

  def _write(self, *made):
    log = changes.DocumentLog(self.path, 'corpus')
    for change in made:
      log.write([change])
    log.close()

  def _read(self, path=None):
    log = changes.DocumentLog(path or self.path, 'corpus')
    in_force = log.in_force()
    log.close()
    return in_force

  def _bytes(self):
    with open(self.path, 'rb') as file:
      return file.read()

  def test_what_is_in_force_comes_back_in_order_for_the_same_corpus(self):
    self.assertEqual(self._read(), ([], []))
    self._write(changes.Change([_A, _B], ['c']))
    self.assertEqual(self._read(), ([_A, _B], ['c']))
    changed = _A._replace(text='New.')
    self._write(changes.Change([changed]), changes.Change([], ['d']))
    self.assertEqual(self._read(), ([_B, changed], ['c', 'd']))
    self._write(changes.Change([_A._replace(article_id='c')], ['b']))
    documents, removed = self._read()
    self.assertEqual([each.article_id for each in documents], ['a', 'c'])
    self.assertEqual(removed, ['d', 'b'])
    with self.assertRaisesRegex(errors.UserError, 'Found corpus corpus'):
      changes.DocumentLog(self.path, 'other corpus')

  def test_other_files_and_older_logs_are_refused_and_kept(self):
    for content in (b'My thesis.\n' * 9, b'{"format": 2}\n' * 99, b'\0' * 999):
      with open(self.path, 'wb') as file:
        file.write(content)
      with self.assertRaisesRegex(errors.UserError, 'not a database.*tail'):
        changes.DocumentLog(self.path, 'corpus')
      self.assertEqual(self._bytes(), content)

  def test_damage_is_refused(self):
    self._write(changes.Change([_A._replace(text='x' * 9999)]))
    whole = self._bytes()
    for damaged in (
      whole[:8192],
      whole[:4096] + bytes(4096) + whole[8192:],
      whole[:-4096] + b'\xff' * 4096,
    ):
      with open(self.path, 'wb') as file:
        file.write(damaged)
      with self.assertRaisesRegex(errors.UserError, '--documents_log must be'):
        changes.DocumentLog(self.path, 'corpus')

  def test_paths_that_are_not_local_files_are_refused(self):
    os.mkfifo(os.path.join(self.folder, 'fifo'))
    os.symlink('loop', os.path.join(self.folder, 'loop'))
    for name in ('fifo', 'loop', '', 'none/log', '/dev/full', 'n' * 300):
      with self.assertRaisesRegex(errors.UserError, '--documents_log must be'):
        changes.DocumentLog(os.path.join(self.folder, name), 'corpus')

  def test_a_log_has_one_server(self):
    soft, hard = self.path + '.soft', self.path + '.hard'
    os.symlink(self.path, soft)
    log = changes.DocumentLog(soft, 'corpus')
    os.link(self.path, hard)
    open_again = (
      'import sys\nfrom realm_tf.serving import changes\n'
      'changes.DocumentLog(sys.argv[1], "corpus")'
    )
    for other in (self.path, soft, hard):
      with self.assertRaisesRegex(errors.UserError, 'no other server uses'):
        changes.DocumentLog(other, 'corpus')
      done = subprocess.run(
        [sys.executable, '-c', open_again, other],
        capture_output=True,
        text=True,
        check=False,
      )
      self.assertIn('UserError', done.stderr)
    log.write([changes.Change([_A])])
    log.close()
    self.assertTrue(os.path.islink(soft))
    self.assertEqual(self._read(), ([_A], []))

  def test_a_full_disk_loses_nothing_that_was_acknowledged(self):
    log = changes.DocumentLog(self.path, 'corpus')
    acknowledged, failed = [], 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
      for number in range(200):
        document = _A._replace(article_id=str(number), text='x' * 3000)
        try:
          log.write([changes.Change([document])])
          acknowledged.append(document)
        except OSError:
          failed += 1
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    self.assertGreater(len(acknowledged), 9)
    self.assertGreater(failed, 9)
    self.assertEqual(log.in_force().add, acknowledged)
    log.write([changes.Change([_B])])  # There is room again.
    log.close()
    self.assertEqual(self._read().add, [*acknowledged, _B])

  def test_acknowledged_changes_survive_a_kill(self):
    writer = subprocess.Popen(
      [sys.executable, '-c', _WRITER, self.path],
      stdout=subprocess.PIPE,
      text=True,
    )
    for _ in range(50):
      acknowledged = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.wait()
    acknowledged = max([acknowledged, *map(int, rest)])
    ids = self._read().remove
    number = len(ids) // 2
    self.assertEqual(
      ids, [f'{i}{part}' for i in range(number) for part in 'ab']
    )
    # The kill may have come after a write and before its number was printed.
    self.assertIn(number, (acknowledged + 1, acknowledged + 2))


if __name__ == '__main__':
  absltest.main()
