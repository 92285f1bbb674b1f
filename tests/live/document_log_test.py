"""Tests for realm_tf.live.document_log."""

import errno
import os
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from realm_tf import errors
from realm_tf.live import changes
from realm_tf.live import document_log
from realm_tf.live import log_lines

_FIRST = changes.Change(
  [changes.Document('a', 'Títle', 'Line one.\nLine two.')], ['b']
)
_SECOND = changes.Change([], ['a'])
# Appends changes and prints the number of each, until a kill.
_WRITER = """
import sys
from realm_tf.live import changes, document_log
log = document_log.DocumentLog(sys.argv[1], 'corpus')
for i in range(10**9):
  log.append([changes.Change([], [str(i)])])
  print(i, flush=True)
"""
# Shortens a log and kills itself before disk call number argv[2].
_SHORTENER = """
import os, signal, sys
from realm_tf.live import changes, document_log
log = document_log.DocumentLog(sys.argv[1], 'corpus')
calls = iter(range(10**9))
def killed_before(function):
  def call(*arguments, **options):
    if next(calls) == int(sys.argv[2]):
      os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments, **options)
  return call
for name in ('open', 'fchmod', 'fsync', 'replace', 'close'):
  setattr(os, name, killed_before(getattr(os, name)))
log.shorten(changes.Change([changes.Document('c', 'd', 'e')], ['b']))
"""
# Appends changes of 1,000 bytes until 10 of them fail, and then a small change;
# prints the ids of all successful changes.
_FILLER = """
import itertools, sys
from realm_tf.live import changes, document_log
log = document_log.DocumentLog(sys.argv[1], 'corpus')
failed = 0
for i in itertools.count():
  id = str(i) if failed > 9 else f'{i}-' + 1000 * 'x'
  try:
    log.append([changes.Change([], [id])])
    print(id, flush=True)
    if failed > 9:
      break
  except OSError:
    failed += 1
"""
_IN_FORCE = [
  changes.Change([], ['b']),
  changes.Change([changes.Document('c', 'd', 'e')], []),
]


class DocumentLogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'log.jsonl')

  def _write(self, *changes):
    log = document_log.DocumentLog(self.path, 'corpus')
    for change in changes or (_FIRST, _SECOND):
      log.append([change])
    log.close()

  def _read(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.close()
    return log.changes

  def _bytes(self):
    with open(self.path, 'rb') as file:
      return file.read()

  def _replace(self, data):
    with open(self.path, 'wb') as file:
      file.write(data)

  def test_changes_come_back_in_order(self):
    self._write()
    self.assertEqual(self._read(), [_FIRST, _SECOND])

  def test_a_half_line_is_dropped_and_the_log_takes_more_changes(self):
    self._write()
    whole = self._bytes()
    # The log before its last change was acknowledged.
    begun = whole.replace(log_lines.kept(2), log_lines.kept(1))
    start = begun.rstrip(b'\n').rfind(b'\n') + 1
    for end in range(start, len(begun)):
      self._replace(begun[:end])
      self.assertEqual(self._read(), [_FIRST], end)
      log = document_log.DocumentLog(self.path, 'corpus')
      log.append([_SECOND])
      log.close()
      self.assertEqual(self._bytes(), whole)

  def test_a_damaged_file_is_refused_and_not_changed(self):
    self._write()
    for whole in (self._bytes(), b'My thesis.'):
      damaged = whole.replace(b'"add"', b'"odd"', 1)
      self._replace(damaged)
      with self.assertRaisesRegex(errors.UserError, 'damage|first line'):
        self._read()
      self.assertEqual(self._bytes(), damaged)

  def test_the_log_of_another_corpus_is_refused(self):
    self._write()
    with self.assertRaisesRegex(errors.UserError, 'Found corpus corpus'):
      document_log.DocumentLog(self.path, 'other corpus')

  def test_a_failed_append_leaves_no_bytes(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.append([_FIRST])
    whole = self._bytes()
    full = OSError(errno.ENOSPC, 'disk full')
    broken = mock.patch.object(os, 'fsync', side_effect=full)
    with broken, self.assertRaises(OSError):
      log.append([_SECOND])
    self.assertEqual(self._bytes(), whole)
    log.append([_SECOND])
    log.close()
    self.assertEqual(self._read(), [_FIRST, _SECOND])

  def test_nothing_is_acknowledged_until_a_half_line_is_cut_off(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.append([_FIRST])
    whole = self._bytes()
    full = OSError(errno.ENOSPC, 'disk full')
    pwrite = os.pwrite
    # Three writes of ten bytes succeed; the next one fails.
    parts = iter([10, 10, 10])

    def write_some(file, data, start):
      for number in parts:
        return pwrite(file, data[:number], start)
      raise full

    with (
      mock.patch.object(os, 'pwrite', write_some),
      mock.patch.object(os, 'ftruncate', side_effect=full),
    ):
      for _ in range(2):
        with self.assertRaises(OSError):
          log.append([_SECOND])
    self.assertLen(self._bytes(), len(whole) + 30)
    broken = mock.patch.object(os, 'fsync', side_effect=full)
    with broken, self.assertRaises(OSError):
      log.append([_SECOND])
    log.append([_SECOND])
    log.close()
    self.assertEqual(self._read(), [_FIRST, _SECOND])

  def test_nothing_is_acknowledged_in_a_moved_or_cut_file(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.append([_FIRST])
    os.rename(self.path, self.path + '.1')  # As logrotate does.
    with self.assertRaises(OSError):
      log.append([_SECOND])
    os.rename(self.path + '.1', self.path)
    log.append([_SECOND])
    os.truncate(self.path, 10)
    with self.assertRaisesRegex(OSError, 'by somebody else'):
      log.append([_SECOND])
    log.close()

  def test_short_writes_are_continued(self):
    pwrite = os.pwrite
    by_sevens = lambda file, data, start: pwrite(file, data[:7], start)
    log = document_log.DocumentLog(self.path, 'corpus')
    with mock.patch.object(os, 'pwrite', by_sevens):
      log.append([_FIRST, _SECOND])
    log.append([_FIRST])
    log.close()
    self.assertEqual(self._read(), [_FIRST, _SECOND, _FIRST])

  def test_a_full_disk_loses_nothing_that_was_acknowledged(self):
    limited = f'ulimit -f 8; exec {sys.executable} -c "$0" "$1"'  # 8 KiB.
    filled = subprocess.run(
      ['bash', '-c', limited, _FILLER, self.path],
      capture_output=True,
      text=True,
      check=True,
    )
    acknowledged = filled.stdout.split()
    self.assertGreater(len(acknowledged), 4)
    self.assertLess(os.path.getsize(self.path), 8192)
    found = [change.remove[0] for change in self._read()]
    self.assertEqual(found, acknowledged)

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
    ids = [change.remove[0] for change in self._read()]
    self.assertEqual(ids, [str(i) for i in range(len(ids))])
    # The kill may have come after a write and before its number was printed.
    self.assertIn(len(ids), (acknowledged + 1, acknowledged + 2))

  def test_a_kill_during_shortening_leaves_the_old_log_or_the_new_one(self):
    self._write()
    whole, seen = self._bytes(), []
    for point in range(20):
      self._replace(whole)
      code = subprocess.run(
        [sys.executable, '-c', _SHORTENER, self.path, str(point)], check=False
      ).returncode
      changes = self._read()
      if code == 0:
        break
      self.assertEqual(code, -signal.SIGKILL)
      self.assertIn(changes, ([_FIRST, _SECOND], _IN_FORCE))
      seen.append(changes == _IN_FORCE)
    # The kills came before open, fchmod, fsync, replace, and close.
    self.assertEqual(seen, [False] * 4 + [True])
    self.assertEqual(changes, _IN_FORCE)

  def test_a_shortened_log_takes_more_changes(self):
    self._write()
    log = document_log.DocumentLog(self.path, 'corpus')
    log.shorten(changes.Change(_IN_FORCE[1].add, ['b']))
    log.append([_SECOND])
    log.close()
    self.assertEqual(self._read(), [*_IN_FORCE, _SECOND])

  def test_is_long_again_at_twice_the_bytes(self):
    self.enter_context(mock.patch.object(document_log, '_MIN_BYTES', 1000))
    log = document_log.DocumentLog(self.path, 'corpus')
    self.assertFalse(log.is_long)
    log.append([changes.Change([], ['x' * 1000])])
    self.assertTrue(log.is_long)
    log.shorten(changes.Change([], ['x' * 900]))
    self.assertFalse(log.is_long)
    log.append([changes.Change([], ['x' * 1100])])  # More than 900 + headers.
    self.assertTrue(log.is_long)

  def test_a_log_stays_in_use_if_it_cannot_be_shortened(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.append([_FIRST])
    full = mock.patch.object(os, 'fsync', side_effect=OSError('disk full'))
    with full:
      log.shorten(_SECOND)
    log.append([_SECOND])
    log.close()
    self.assertEqual(self._read(), [_FIRST, _SECOND])


if __name__ == '__main__':
  absltest.main()
