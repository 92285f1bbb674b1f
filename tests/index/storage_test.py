"""Tests for realm_tf.index.storage."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.index import index_plan
from realm_tf.index import storage
from realm_tf.rundir import layout
from realm_tf.rundir import manifests
from realm_tf.rundir import versions
from tests.index import small

_SCANN = config_lib.IndexConfig(
  searcher='scann',
  recall_target=0,
  leaves_to_search_fraction=1.0,
  num_to_rescore=40,
)
_EXACT = config_lib.IndexConfig(searcher='brute_force')
_EMBEDDINGS = np.random.default_rng(0).normal(size=[40, 4]).astype(np.float32)
_HASHES = np.arange(40, dtype=np.uint64) * 3


class StorageTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = os.path.join(self.create_tempdir().full_path, 'index')

  def _complete(self, config=_EXACT, name='x'):
    return small.complete(
      self.root, 500, _EMBEDDINGS, config=config, name=name
    )[0]

  @parameterized.named_parameters(('brute_force', _EXACT), ('scann', _SCANN))
  def test_round_trip(self, config):
    version = self._complete(config)
    self.assertEqual(version, versions.newest(self.root))
    index = storage.load(version.path, small.FINGERPRINT)
    self.assertEqual((index.step, index.path), (500, version.path))
    self.assertEqual(index.manifest['searcher']['kind'], config.searcher)
    self.assertEqual(index.manifest['num_blocks'], 40)
    self.assertEqual(index.manifest['embedding_size'], 4)
    np.testing.assert_array_equal(index.embeddings, _EMBEDDINGS)
    np.testing.assert_array_equal(
      storage.read_hashes(version.path, index.manifest), _HASHES
    )
    queries = np.eye(4, dtype=np.float32)
    # Query d scores a block by its entry d.
    expected = np.argsort(-_EMBEDDINGS, axis=0).T[:, :3]
    np.testing.assert_array_equal(
      index.searcher.search(queries, 3).block_ids, expected
    )

  def test_manifest_names_corpus_and_parameters(self):
    manifest = storage.read_manifest(self._complete().path)
    plan = index_plan.make(small.CONFIG, small.model(), small.FINGERPRINT, 40)
    for name, value in plan._asdict().items():
      self.assertEqual(manifest[name], value, name)

  def test_the_first_worker_to_complete_a_version_wins(self):
    first = storage.read_manifest(self._complete(name='x').path)
    second = storage.read_manifest(self._complete(name='y').path)
    self.assertEqual(second, first)
    storage.load(versions.version_path(self.root, 500), small.FINGERPRINT)

  def test_a_version_is_whole_if_two_workers_complete_it(self):
    # Both workers found the version incomplete.
    is_complete = versions.is_complete
    self.addCleanup(setattr, versions, 'is_complete', is_complete)
    self._complete(name='x')
    versions.is_complete = lambda path: False
    self._complete(name='y')
    versions.is_complete = is_complete
    index = storage.load(
      versions.version_path(self.root, 500), small.FINGERPRINT
    )
    self.assertEqual(index.manifest['assets'], 'assets-y')
    np.testing.assert_array_equal(index.embeddings, _EMBEDDINGS)

  def test_index_of_another_corpus_is_refused(self):
    version = self._complete()
    with self.assertRaisesRegex(
      errors.UserError, 'corpus f{12}, and corpus e{12}.*bin.build_index'
    ):
      storage.load(version.path, 'e' * 64)

  def test_a_version_of_another_kind_is_refused(self):
    version = versions.publish(
      self.root,
      500,
      lambda path: None,
      {'corpus_fingerprint': small.FINGERPRINT},
    )
    with self.assertRaisesRegex(errors.UserError, "no 'shards'.*build_index"):
      storage.load(version.path, small.FINGERPRINT)

  def test_a_flipped_byte_in_any_file_is_refused_by_name(self):
    version = self._complete(_SCANN)
    names = [
      os.path.join(folder, name)
      for folder, _, names in os.walk(version.path)
      for name in names
      # The plan is not part of a complete version.
      if name != 'plan.json'
    ]
    self.assertContainsSubset(
      {
        layout.params_file(version.path),
        os.path.join(version.path, 'embeddings-1-x.npy'),
        os.path.join(version.path, 'assets-x', 'hashes.npy'),
        os.path.join(version.path, manifests.NAME),
      },
      names,
    )
    for name in names:
      path = pathlib.Path(name)
      data = path.read_bytes()
      flipped = bytearray(data)
      flipped[len(data) // 2] ^= 1
      path.write_bytes(flipped)
      with self.assertRaisesRegex(errors.UserError, f'^{path} must'):
        storage.load(version.path, small.FINGERPRINT)
      path.write_bytes(data)
    storage.load(version.path, small.FINGERPRINT)  # Intact again.


if __name__ == '__main__':
  absltest.main()
