"""Tests for realm_tf.serving.document_log."""

import os
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from realm_tf import errors
from realm_tf.serving import document_log

_FIRST = document_log.Change(
  [document_log.Document('a', 'Títle', 'Line one.\nLine two.')], ['b']
)
_SECOND = document_log.Change([], ['a'])
# Says each change after it was appended, until it is killed.
_WRITER = """
import sys
from realm_tf.serving import document_log
log = document_log.DocumentLog(sys.argv[1], 'corpus')
for i in range(10**9):
  log.append([document_log.Change([], [str(i)])])
  print(i, flush=True)
"""
# Shortens a log and is killed before the n-th of the calls that touch the disk.
_SHORTENER = """
import builtins, os, signal, sys
from realm_tf.serving import document_log
log = document_log.DocumentLog(sys.argv[1], 'corpus')
calls = iter(range(10**9))
def killed_before(function):
  def call(*arguments, **options):
    if next(calls) == int(sys.argv[2]):
      os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments, **options)
  return call
builtins.open = killed_before(open)
for name in ('fsync', 'replace', 'open', 'close'):
  setattr(os, name, killed_before(getattr(os, name)))
log.shorten(document_log.Change([document_log.Document('c', 'd', 'e')], ['b']))
"""
_IN_FORCE = [
  document_log.Change([], ['b']),
  document_log.Change([document_log.Document('c', 'd', 'e')], []),
]


class DocumentLogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'log.jsonl')

  def _write(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.append([_FIRST])
    log.append([_SECOND])
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
    self.assertEmpty(document_log.DocumentLog(self.path, 'corpus').changes)
    self._write()
    self.assertEqual(self._read(), [_FIRST, _SECOND])

  def test_a_line_cut_short_anywhere_is_absent_and_the_log_goes_on(self):
    self._write()
    whole = self._bytes()
    start = whole.rstrip(b'\n').rfind(b'\n') + 1
    for end in range(start, len(whole)):
      self._replace(whole[:end])
      self.assertEqual(self._read(), [_FIRST], end)
      log = document_log.DocumentLog(self.path, 'corpus')
      log.append([_SECOND])
      log.close()
      self.assertEqual(self._bytes(), whole)

  def test_a_flipped_byte_is_told(self):
    self._write()
    whole = self._bytes()
    last = whole.rstrip(b'\n').rfind(b'\n') + 1
    for place in range(last):
      flipped = bytearray(whole)
      flipped[place] ^= 1
      self._replace(bytes(flipped))
      with self.assertRaisesRegex(errors.UserError, 'damaged|other|served'):
        self._read()

  def test_another_corpus_is_told(self):
    self._write()
    with self.assertRaisesRegex(errors.UserError, 'Found those of corpus'):
      document_log.DocumentLog(self.path, 'other corpus')

  def test_what_cannot_be_written_leaves_nothing(self):
    log = document_log.DocumentLog(self.path, 'corpus')
    log.append([_FIRST])
    full = mock.patch.object(os, 'fsync', side_effect=OSError('disk full'))
    with full, self.assertRaises(OSError):
      log.append([_SECOND])
    log.close()
    self.assertEqual(self._read(), [_FIRST])

  def test_what_was_acknowledged_survives_a_kill(self):
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
    # One more may have been written and not told.
    self.assertIn(len(ids), (acknowledged + 1, acknowledged + 2))

  def test_a_kill_at_any_point_of_shortening_leaves_the_old_or_the_new(self):
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
    # Before open, fsync, open, replace; then those of the folder.
    self.assertEqual(seen, [False] * 4 + [True] * 3)
    self.assertEqual(changes, _IN_FORCE)

  def test_a_shortened_log_goes_on(self):
    self._write()
    log = document_log.DocumentLog(self.path, 'corpus')
    log.shorten(document_log.Change(_IN_FORCE[1].add, ['b']))
    log.append([_SECOND])
    log.close()
    self.assertEqual(self._read(), [*_IN_FORCE, _SECOND])

  def test_is_long_again_at_twice_the_bytes(self):
    self.enter_context(mock.patch.object(document_log, '_MIN_BYTES', 1000))
    log = document_log.DocumentLog(self.path, 'corpus')
    self.assertFalse(log.is_long)
    log.append([document_log.Change([], ['x' * 1000])])
    self.assertTrue(log.is_long)
    log.shorten(document_log.Change([], ['x' * 900]))
    self.assertFalse(log.is_long)
    log.append([document_log.Change([], ['x' * 1100])])  # There is a header.
    self.assertTrue(log.is_long)

  def test_what_cannot_be_shortened_stays_and_goes_on(self):
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
