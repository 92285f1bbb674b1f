"""Tests for realm_tf.run.versions."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.run import versions


def _writer(text):
  def write(path):
    folder = pathlib.Path(path, 'deep')
    folder.mkdir()
    (folder / 'x.txt').write_text(text)
    pathlib.Path(path, 'y.bin').write_bytes(b'\x00' * 3)

  return write


class VersionsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = os.path.join(self.create_tempdir().full_path, 'params')

  def _publish(self, step, text='abc', metadata=None):
    return versions.publish(self.root, step, _writer(text), metadata or {})

  def _steps(self):
    return sorted(int(name) for name in os.listdir(self.root))

  def test_publishes_files_with_a_manifest(self):
    version = self._publish(500, metadata={'corpus': 'c'})
    self.assertEqual(
      version, versions.Version(500, os.path.join(self.root, '000000500'))
    )
    manifest = versions.verify(version.path)
    self.assertEqual((manifest['step'], manifest['corpus']), (500, 'c'))
    self.assertCountEqual(manifest['files'], ['deep/x.txt', 'y.bin'])
    # Only the written files and the manifest.
    self.assertEqual(
      sorted(os.listdir(version.path)), ['deep', 'manifest.json', 'y.bin']
    )

  def test_newest_is_the_highest_step(self):
    self.assertIsNone(versions.newest(self.root))  # No directory.
    # As texts, 1500 would precede 500.
    for step in (500, 1500, 1000):
      self._publish(step)
    self.assertEqual(versions.newest(self.root).step, 1500)
    self.assertEqual(versions.newest(self.root, above=1000).step, 1500)
    self.assertIsNone(versions.newest(self.root, above=1500))

  def test_an_incomplete_version_is_invisible_and_replaced(self):
    self._publish(500)
    seen = []

    def crash(path):
      _writer('abc')(path)
      pathlib.Path(path, 'half.bin').write_bytes(b'x')
      seen.append(versions.newest(self.root).step)
      raise RuntimeError('Out of memory.')

    with self.assertRaisesRegex(RuntimeError, 'memory'):
      versions.publish(self.root, 1000, crash, {})
    self.assertEqual(seen, [500])
    self.assertEqual(versions.newest(self.root).step, 500)

    version = self._publish(1000)
    self.assertEqual(
      sorted(versions.verify(version.path)['files']), ['deep/x.txt', 'y.bin']
    )
    self.assertNotIn('half.bin', os.listdir(version.path))
    # Publishing a complete version again does nothing.
    again = versions.publish(
      self.root, 1000, lambda path: self.fail('Written again.'), {}
    )
    self.assertEqual(again, versions.newest(self.root))
    versions.verify(again.path)

  def test_oldest_is_the_first_complete_one_above_a_step(self):
    for step in (500, 1000, 1500):
      self._publish(step)
    path = versions.version_path(self.root, 1000)
    os.remove(os.path.join(path, 'manifest.json'))
    self.assertEqual(versions.oldest(self.root).step, 500)
    self.assertEqual(versions.oldest(self.root, above=500).step, 1500)
    self.assertIsNone(versions.oldest(self.root, above=1500))

  def test_prune_keeps_the_newest_those_in_use_and_incomplete_ones(self):
    for step in (500, 1000, 1500, 2000, 10000):
      self._publish(step)
    os.makedirs(os.path.join(self.root, '000020000'))  # Being written.
    versions.prune(self.root, keep=2, in_use=(1000,))
    self.assertEqual(self._steps(), [1000, 2000, 10000, 20000])
    versions.prune(self.root, keep=3)  # There are no more.
    self.assertEqual(self._steps(), [1000, 2000, 10000, 20000])

  def test_other_names_are_ignored(self):
    self._publish(500)
    for name in ('²', '٣', '٠٠٠٠٠٠٠٠٧', '7', '00000000000000007', '9' * 200):
      os.makedirs(os.path.join(self.root, name))
      pathlib.Path(self.root, name, 'manifest.json').write_text('{}')
    self.assertEqual(versions.steps(self.root), [500])
    self.assertEqual(versions.newest(self.root).step, 500)

  def test_removing_never_follows_a_link(self):
    home = pathlib.Path(self.create_tempdir().full_path)
    (home / 'thesis.txt').write_text('mine')
    for step in (500, 1000, 1500):
      self._publish(step)
    pathlib.Path(self.root, '000000500', 'link').symlink_to(home)
    pathlib.Path(self.root, '000001000', 'file').symlink_to(home / 'thesis.txt')
    versions.prune(self.root, keep=1)
    self.assertEqual(self._steps(), [1500])
    pathlib.Path(self.root, '000002000').symlink_to(home)
    self._publish(2000)
    self.assertEqual(os.listdir(home), ['thesis.txt'])


if __name__ == '__main__':
  absltest.main()
