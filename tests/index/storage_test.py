"""Tests for realm_tf.index.storage."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from tests.index import small

_SCANN = config_lib.IndexConfig(
  searcher='scann', leaves_to_search_fraction=1.0, num_to_rescore=40
)
_EXACT = config_lib.IndexConfig(searcher='brute_force')


class StorageTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = os.path.join(self.create_tempdir().full_path, 'index')
    self.model = small.model()
    self.embeddings = (
      np.random.default_rng(0).normal(size=[40, 4]).astype(np.float32)
    )

  def _publish(self, config=_EXACT):
    return storage.publish(
      self.root, 500, self.embeddings, self.model, 'f' * 64, config
    )

  @parameterized.named_parameters(('brute_force', _EXACT), ('scann', _SCANN))
  def test_round_trip(self, config):
    version = self._publish(config)
    self.assertEqual(version, versions.newest(self.root))
    index = storage.load(version.path, 'f' * 64, config)
    self.assertEqual((index.step, index.path), (500, version.path))
    self.assertEqual(index.manifest['searcher'], config.searcher)
    self.assertEqual(index.manifest['num_blocks'], 40)
    self.assertEqual(index.manifest['embedding_size'], 4)
    np.testing.assert_array_equal(index.embeddings, self.embeddings)
    self.assertIsInstance(index.embeddings, np.memmap)

    queries = np.eye(4, dtype=np.float32)
    # Query d scores a block by its entry d.
    expected = np.argsort(-self.embeddings, axis=0).T[:, :3]
    np.testing.assert_array_equal(
      index.searcher.search(queries, 3).block_ids, expected
    )

  def test_has_the_parameters_that_queries_are_embedded_with(self):
    version = self._publish()
    arrays = weights.read(layout.params_file(version.path))
    other = small.model(seed=1)
    fingerprint = weights.fingerprint(self.model.variables)
    self.assertNotEqual(weights.fingerprint(other.variables), fingerprint)
    realm_model.require_parts(other.load(arrays), version.path)
    self.assertEqual(weights.fingerprint(other.variables), fingerprint)

  def test_manifest_tells_embedders_apart(self):
    manifest = versions.read_manifest(self._publish().path)
    self.assertEqual(
      manifest['embedder_fingerprint'],
      weights.fingerprint(self.model.block_embedder.variables),
    )

  def test_index_of_another_corpus_is_refused(self):
    version = self._publish()
    with self.assertRaisesRegex(
      errors.UserError, 'corpus f{12}, and corpus e{12}.*bin.build_index'
    ):
      storage.load(version.path, 'e' * 64, _EXACT)

  @parameterized.parameters('embeddings.npy', 'params.safetensors', 'scann/')
  def test_flipped_byte_is_refused_by_name(self, name):
    version = self._publish(_SCANN)
    path = pathlib.Path(version.path, name)
    if path.is_dir():
      path = max(path.iterdir(), key=lambda file: file.stat().st_size)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with self.assertRaisesRegex(errors.UserError, f'^{path} must have'):
      storage.load(version.path, 'f' * 64, _SCANN)

  def test_variables_of_a_shared_tower_are_stored_once(self):
    self.assertEqual(
      [v.name for v in storage.embedder_variables(self.model)],
      [
        v.name
        for tower in (self.model.query_embedder, self.model.block_embedder)
        for v in tower.variables
      ],
    )
    self.model.block_embedder = self.model.query_embedder
    self.assertLen(
      storage.embedder_variables(self.model),
      len(self.model.query_embedder.variables),
    )

  @parameterized.parameters(
    ('auto', 20, 15, 'brute_force'),
    ('auto', 20, 19, 'brute_force'),
    ('auto', 20, 20, 'scann'),
    ('auto', 1, 15, 'brute_force'),  # ScaNN needs 16.
    ('auto', 1, 16, 'scann'),
    ('scann', 20, 16, 'scann'),
    ('scann', 20, 15, 'brute_force'),
    ('brute_force', 20, 10**7, 'brute_force'),
  )
  def test_searcher_kind(self, searcher, exact_below, num_blocks, expected):
    config = config_lib.IndexConfig(
      searcher=searcher, exact_below_blocks=exact_below
    )
    self.assertEqual(storage.searcher_kind(config, num_blocks), expected)


if __name__ == '__main__':
  absltest.main()
