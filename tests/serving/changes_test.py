"""Tests for realm_tf.serving.changes: the database of documents."""

import os
import resource
import subprocess
import sys

from absl.testing import absltest

from realm_tf import errors
from realm_tf.serving import changes

_A = changes.Document('a', 'Títle', 'Line one.\nLine two.')
_B = changes.Document('b', 'B', 'Text.')


class DocumentLogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.path = os.path.join(self.folder, 'log')

  def _write(self, *made):
    log = changes.DocumentLog(self.path, 'corpus')
    for change in made:
      log.write(change)
    log.close()

  def _read(self):
    log = changes.DocumentLog(self.path, 'corpus')
    in_force = log.in_force()
    log.close()
    return list(in_force.items())

  def _bytes(self):
    with open(self.path, 'rb') as file:
      return file.read()

  def test_what_is_in_force_comes_back_in_order_for_the_same_corpus(self):
    self.assertEmpty(self._read())
    self._write({'a': _A, 'b': _B, 'c': None})
    self.assertEqual(self._read(), [('a', _A), ('b', _B), ('c', None)])
    changed = _A._replace(text='New.')
    self._write({'a': changed}, {'d': None})
    self.assertEqual(
      self._read(), [('b', _B), ('c', None), ('a', changed), ('d', None)]
    )
    self._write({'c': _B._replace(article_id='c'), 'b': None})
    self.assertEqual([i for i, _ in self._read()], ['a', 'd', 'c', 'b'])
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
    self._write({'a': _A._replace(text='x' * 9999)})
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
      with self.assertRaisesRegex(errors.UserError, ' must be a'):
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
    log.write({'a': _A})
    log.close()
    self.assertTrue(os.path.islink(soft))
    self.assertEqual(self._read(), [('a', _A)])

  def test_a_full_disk_loses_nothing_that_was_acknowledged(self):
    log = changes.DocumentLog(self.path, 'corpus')
    acknowledged, failed = [], 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
      for number in range(200):
        document = _A._replace(article_id=str(number), text='x' * 3000)
        try:
          log.write({document.article_id: document})
          acknowledged.append((document.article_id, document))
        except OSError:
          failed += 1
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    self.assertGreater(len(acknowledged), 9)
    self.assertGreater(failed, 9)
    self.assertEqual(list(log.in_force().items()), acknowledged)
    log.write({'b': _B})  # There is room again.
    log.close()
    self.assertEqual(self._read(), [*acknowledged, ('b', _B)])


if __name__ == '__main__':
  absltest.main()
