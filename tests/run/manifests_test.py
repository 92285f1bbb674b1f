"""Tests for realm_tf.run.manifests."""

import json
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.run import manifests
from realm_tf.run import outputs

_KIND = manifests.Kind(
  'a corpus', 'bin.make', {'num_blocks': json_text.COUNT}, ['table/x.npy']
)


def _read(directory):
  return manifests.read(directory, _KIND)


class ManifestsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = os.path.join(self.create_tempdir().full_path, 'corpus')
    with outputs.publishing(self.directory) as (staging, metadata):
      os.mkdir(os.path.join(staging, 'table'))
      pathlib.Path(staging, 'table', 'x.npy').write_bytes(b'abc')
      pathlib.Path(staging, 'empty').write_bytes(b'')
      # JSON turns the keys into strings, which are ordered differently.
      metadata.update(num_blocks=3, counts={9: 'ä', 10: 'b'})
    self.path = pathlib.Path(self.directory, manifests.NAME)

  def _edit(self, change, seal=True):
    manifest = json.loads(self.path.read_text())
    change(manifest)
    if seal:
      manifests.write(self.directory, manifest.pop('files'), manifest)
    else:
      self.path.write_text(json.dumps(manifest))

  def test_round_trip(self):
    manifest = _read(self.directory)
    self.assertEqual(manifest['counts'], {'9': 'ä', '10': 'b'})
    # sha256 of 'abc', from FIPS 180-4.
    entry = manifest['files']['table/x.npy']
    self.assertEqual(entry['size'], 3)
    self.assertStartsWith(entry['sha256'], 'ba7816bf8f01cfea')
    manifests.check(self.directory, manifest, contents=True)
    (self.path.parent / 'table' / 'x.npy').write_bytes(b'abd')
    with self.assertRaisesRegex(errors.UserError, 'x.npy must be unchanged'):
      manifests.check(self.directory, manifest, contents=False)
    self.assertEqual(os.listdir(os.path.dirname(self.directory)), ['corpus'])

  @mock.patch.object(manifests, 'SMALL_BYTES', 2)
  def test_large_files_are_hashed_only_with_contents(self):
    manifest, file = _read(self.directory), self.path.parent / 'table' / 'x.npy'
    file.write_bytes(b'abd')
    manifests.check(self.directory, manifest, contents=False)
    with self.assertRaisesRegex(errors.UserError, 'x.npy must be unchanged'):
      manifests.check(self.directory, manifest, contents=True)
    file.write_bytes(b'ab')
    with self.assertRaisesRegex(errors.UserError, "3.* Found {'size': 2}"):
      manifests.check(self.directory, manifest, contents=False)
    file.unlink()
    with self.assertRaisesRegex(errors.UserError, 'x.npy must be there'):
      manifests.check(self.directory, manifest, contents=False)

  @parameterized.named_parameters(
    ('changed', lambda m: m.update(num_blocks=4), 'another SHA-256'),
    (
      'other',
      lambda m: m.pop('num_blocks'),
      'missing required field `num_blocks`. Give or make a corpus',
    ),
    ('no_files', lambda m: m.pop('files'), 'field `files`'),
    # Without a checksum nothing verifies the manifest.
    ('unsealed', lambda m: m.pop('manifest_sha256'), 'must have'),
    ('text', lambda m: m.update(num_blocks='3'), 'manifest.json must have'),
  )
  def test_a_changed_manifest_is_a_user_error(self, change, message):
    self._edit(change, seal=False)
    with self.assertRaisesRegex(errors.UserError, message):
      _read(self.directory)

  @parameterized.parameters(
    '../home/thesis.txt',
    'table/../../home/thesis.txt',
    'THESIS',  # Stands for the absolute path.
    'table//x.npy',
    'C:thesis.txt',
    'gs://bucket/thesis.txt',
    'empty\0',
    '',
    'table',  # A directory.
    'manifest.json',
    'link/thesis.txt',  # Below a link to another folder.
    'linked_file',
  )
  def test_names_outside_of_the_directory_are_refused(self, name):
    thesis = pathlib.Path(self.directory).parent / 'home' / 'thesis.txt'
    thesis.parent.mkdir()
    thesis.write_text('mine')
    (self.path.parent / 'link').symlink_to(thesis.parent)
    (self.path.parent / 'linked_file').symlink_to(thesis)
    name = str(thesis) if name == 'THESIS' else name
    entry = manifests.describe_bytes(b'mine')
    self._edit(lambda m: m['files'].update({name: entry}))
    before = sorted(pathlib.Path(self.directory).rglob('*'))
    with self.assertRaises(errors.UserError):
      _read(self.directory)
    with self.assertRaisesRegex(errors.UserError, 'Nothing was deleted'):
      outputs.check_new(self.directory, overwrite=True)
    with (
      self.assertRaisesRegex(errors.UserError, 'Nothing was deleted'),
      outputs.publishing(self.directory),
    ):
      pass
    self.assertEqual(thesis.read_text(), 'mine')
    self.assertEqual(sorted(pathlib.Path(self.directory).rglob('*')), before)

  def test_the_second_of_two_jobs_is_refused(self):
    folder = os.path.join(os.path.dirname(self.directory), 'two')
    with (
      self.assertRaisesRegex(errors.UserError, 'another was faster'),
      outputs.publishing(folder) as (slow, _),
    ):
      pathlib.Path(slow, 'x').write_text('slow')
      with outputs.publishing(folder) as (fast, _):
        pathlib.Path(fast, 'x').write_text('fast')
    self.assertCountEqual(os.listdir(folder), ['x', 'manifest.json'])
    self.assertEqual(pathlib.Path(folder, 'x').read_text(), 'fast')

  def test_writes_a_directory_whose_parent_allows_no_other(self):
    with outputs.publishing(self.directory) as (staging, _):
      self.assertStartsWith(staging, os.path.join(self.directory, ''))

  def test_writes_into_no_linked_folder(self):
    folder = pathlib.Path(self.directory).parent
    elsewhere, other = folder / 'home', folder / 'other'
    elsewhere.mkdir()
    other.mkdir()
    (other / 'table').symlink_to(elsewhere)
    with (
      self.assertRaisesRegex(errors.UserError, 'by a link'),
      outputs.publishing(str(other)) as (staging, _),
    ):
      os.mkdir(os.path.join(staging, 'table'))
      pathlib.Path(staging, 'table', 'x.npy').write_bytes(b'abc')
    self.assertEmpty(os.listdir(elsewhere))

  def test_links_within_and_to_the_directory_are_allowed(self):
    (self.path.parent / 'same').symlink_to('table/x.npy')
    self._edit(
      lambda m: m['files'].update(same=manifests.describe_bytes(b'abc'))
    )
    link = pathlib.Path(self.directory).parent / 'link'
    link.symlink_to(self.directory)
    manifests.check(str(link), _read(str(link)), contents=True)

  def test_removes_trees_and_links_but_not_the_targets_of_links(self):
    home = pathlib.Path(self.create_tempdir().full_path)
    (self.path.parent / 'link').symlink_to(home)
    other = home / 'other'
    other.symlink_to(self.directory)
    manifests.remove_tree(str(other))
    self.assertTrue(self.path.exists())
    manifests.remove_tree(self.directory)
    self.assertFalse(self.path.parent.exists())
    self.assertTrue(home.is_dir())
    with self.assertRaises(tf.errors.NotFoundError):
      manifests.remove_tree(self.directory)
    with mock.patch.object(tf.io.gfile, 'rmtree') as rmtree:
      manifests.remove_tree('gs://bucket/corpus')
    rmtree.assert_called_once_with('gs://bucket/corpus')

  def test_replaces_only_files_that_the_manifest_lists(self):
    (self.path.parent / 'mine').write_bytes(b'a')
    with self.assertRaisesRegex(errors.UserError, 'must be new.*--overwrite'):
      outputs.check_new(self.directory)
    outputs.check_new(self.directory, overwrite=True)
    with outputs.publishing(self.directory) as (staging, metadata):
      pathlib.Path(staging, 'new').write_bytes(b'b')
      metadata['num_blocks'] = 0
    self.assertEqual(
      sorted(os.listdir(self.directory)),
      ['manifest.json', 'mine', 'new', 'table'],
    )
    self.assertEmpty(os.listdir(os.path.join(self.directory, 'table')))

  def test_no_json_object_and_a_fifo_are_user_errors(self):
    os.mkfifo(self.path.parent / 'fifo')
    self._edit(lambda m: m['files'].update(fifo=manifests.describe_bytes(b'')))
    with self.assertRaisesRegex(errors.UserError, 'Found a FIFO'):
      _read(self.directory)
    self.path.write_text('[]')
    with self.assertRaisesRegex(errors.UserError, 'manifest.json must be a JS'):
      _read(self.directory)
    self.path.unlink()
    with self.assertRaisesRegex(errors.UserError, 'must be a corpus.*bin.make'):
      _read(self.directory)
    os.mkfifo(self.path)
    with self.assertRaisesRegex(errors.UserError, 'Found a FIFO'):
      _read(self.directory)


if __name__ == '__main__':
  absltest.main()
