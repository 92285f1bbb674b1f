"""Tests for realm_tf.rundir.manifests."""

import json
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.rundir import manifests


def _read(directory):
  return manifests.read(directory, 'a corpus', 'bin.make', 'num_blocks')


class ManifestsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = os.path.join(self.create_tempdir().full_path, 'corpus')
    with manifests.publishing(self.directory) as (staging, metadata):
      os.mkdir(os.path.join(staging, 'table'))
      pathlib.Path(staging, 'table', 'x.npy').write_bytes(b'abc')
      pathlib.Path(staging, 'empty').write_bytes(b'')
      # JSON makes the numbers strings, and their order another.
      metadata.update(num_blocks=3, counts={9: 'ä', 10: 'b'})
    self.path = pathlib.Path(self.directory, manifests.NAME)

  def _edit(self, change):
    manifest = json.loads(self.path.read_text())
    change(manifest)
    self.path.write_text(json.dumps(manifest))

  def test_round_trip(self):
    manifest = _read(self.directory)
    self.assertEqual(manifest['counts'], {'9': 'ä', '10': 'b'})
    # sha256 of 'abc', from FIPS 180-4.
    entry = manifest['files']['table/x.npy']
    self.assertEqual(entry['size'], 3)
    self.assertStartsWith(entry['sha256'], 'ba7816bf8f01cfea')
    manifests.check(self.directory, manifest, contents=True)
    self.assertEqual(os.listdir(os.path.dirname(self.directory)), ['corpus'])

  def test_a_size_is_checked_always_and_contents_when_asked(self):
    manifest, file = _read(self.directory), self.path.parent / 'table' / 'x.npy'
    file.write_bytes(b'abd')
    manifests.check(self.directory, manifest, contents=False)
    with self.assertRaisesRegex(errors.UserError, 'x.npy must be as'):
      manifests.check(self.directory, manifest, contents=True)
    file.write_bytes(b'ab')
    with self.assertRaisesRegex(errors.UserError, "3.* Found {'size': 2}"):
      manifests.check(self.directory, manifest, contents=False)
    file.unlink()
    with self.assertRaisesRegex(errors.UserError, 'x.npy must be there'):
      manifests.check(self.directory, manifest, contents=False)

  @parameterized.named_parameters(
    ('changed', lambda m: m.update(num_blocks=4), 'another SHA-256'),
    ('other', lambda m: m.pop('num_blocks'), "no 'num_blocks'"),
    ('no_files', lambda m: m.pop('files'), 'Found no'),
  )
  def test_a_changed_manifest_is_a_user_error(self, change, message):
    self._edit(change)
    with self.assertRaisesRegex(errors.UserError, message):
      _read(self.directory)

  def test_no_manifest_or_no_json_is_a_user_error(self):
    self.path.write_text('[{')
    with self.assertRaisesRegex(errors.UserError, 'must be JSON'):
      _read(self.directory)
    self.path.unlink()
    with self.assertRaisesRegex(errors.UserError, 'must be a corpus.*bin.make'):
      _read(self.directory)

  def test_reads_the_manifests_of_older_corpora(self):
    def make_old(manifest):
      del manifest['manifest_sha256']
      for entry in manifest['files'].values():
        entry['bytes'] = entry.pop('size')

    expected = _read(self.directory)['files']
    self._edit(make_old)
    manifest = _read(self.directory)
    self.assertEqual(manifest['files'], expected)
    manifests.check(self.directory, manifest, contents=True)

  def test_checks_sizes_alone_of_the_oldest_corpora(self):
    def make_old(manifest):
      del manifest['manifest_sha256']
      for entry in manifest['files'].values():
        del entry['sha256']

    self._edit(make_old)
    manifest = _read(self.directory)
    manifests.check(self.directory, manifest, contents=True)
    (self.path.parent / 'empty').write_bytes(b'a')
    with self.assertRaisesRegex(errors.UserError, 'empty must be as'):
      manifests.check(self.directory, manifest, contents=True)

  def test_replaces_even_a_directory_whose_manifest_is_damaged(self):
    self.path.write_text('{"num_blocks"')
    with manifests.publishing(self.directory) as (_, metadata):
      metadata['num_blocks'] = 0
    self.assertEqual(_read(self.directory)['files'], {})


if __name__ == '__main__':
  absltest.main()
