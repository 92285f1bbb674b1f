"""Tests for realm_tf.index.storage."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import run_lock
from realm_tf.run import versions
from tests.index import small

_SCANN = config_lib.IndexConfig(searcher='scann', recall_target=0, num_leaves=1)
_EXACT = config_lib.IndexConfig(searcher='brute_force')
_EMBEDDINGS = np.random.default_rng(0).normal(size=[40, 4]).astype(np.float32)
_HASHES = np.arange(40, dtype=np.uint64) * 3


def _plan(model, num_blocks=10, corpus='c' * 64):
  return storage.make_plan(small.CONFIG, model, corpus, num_blocks)


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
    plan = _plan(small.indexed_model(), 40, small.FINGERPRINT)
    expected = {**plan._asdict(), 'embedding_size': 4}
    self.assertLessEqual(expected.items(), index.manifest.items())
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
    path = versions.version_path(self.root, 500)
    index = storage.load(path, small.FINGERPRINT)
    self.assertEqual(index.manifest['assets'], 'assets-y')
    np.testing.assert_array_equal(index.embeddings, _EMBEDDINGS)


class PlanTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, '000000500')
    self.model = small.indexed_model()

  def test_round_trip(self):
    self.assertIsNone(storage.read_plan(self.path))
    plan = _plan(self.model)
    storage.begin(self.path, plan, self.model)
    self.assertEqual(storage.read_plan(self.path), plan)
    params = pathlib.Path(layout.params_file(self.path))
    params.write_bytes(b'old')
    storage.begin(self.path, plan, self.model)
    with (
      mock.patch.object(run_lock, 'code', lambda: 'other'),
      self.assertLogs(level='WARNING') as logs,
    ):
      storage.begin(self.path, plan, self.model)
    self.assertIn(f'{self.path} was last written by', logs.output[0])
    self.assertEqual(params.read_bytes(), b'old')  # It has begun already.
    self.assertFalse(versions.is_complete(self.path))

  def test_a_begun_version_holds_the_embedders(self):
    storage.begin(self.path, _plan(self.model), self.model)
    names = ['params.safetensors', 'plan.json']
    self.assertCountEqual(os.listdir(self.path), names)
    other = small.model(seed=1)
    expected = weights.fingerprint(weights.values(self.model.variables))
    self.assertNotEqual(
      weights.fingerprint(weights.values(other.variables)), expected
    )
    arrays = weights.read(layout.params_file(self.path))
    realm_model.require_parts(other.load(arrays), 'the file')
    self.assertEqual(
      weights.fingerprint(weights.values(other.variables)), expected
    )

  def test_other_parameters_make_another_plan(self):
    other = small.model(seed=1)
    names = {_plan(model).name for model in (self.model, other)}
    names.add(_plan(self.model, num_blocks=11).name)
    self.assertLen(names, 3)
    storage.begin(self.path, _plan(self.model), self.model)
    storage.begin(self.path, _plan(other), other)
    self.assertEqual(storage.read_plan(self.path), _plan(other))

  @parameterized.parameters((1, [4]), (10, [4, 4, 2]), (12, [4, 4, 4]))
  def test_shards_share_the_blocks(self, num_blocks, lengths):
    plan = _plan(self.model, num_blocks)._replace(shard_blocks=4)
    lengths = [min(length, num_blocks) for length in lengths]
    rows = [plan.shard_rows(i) for i in range(plan.num_shards)]
    self.assertEqual([len(shard) for shard in rows], lengths)
    self.assertEqual([i for shard in rows for i in shard], [*range(num_blocks)])

  @parameterized.parameters('', '{"num_blocks": 3}', '[]')
  def test_an_unreadable_plan_is_none(self, text):
    storage.begin(self.path, _plan(self.model), self.model)
    pathlib.Path(self.path, 'plan.json').write_text(text)
    self.assertIsNone(storage.read_plan(self.path))

  def test_shared_and_separate_towers_have_equal_fingerprints(self):
    model = small.model()
    before = storage.embedder_fingerprint(model)
    query, block = model.query_embedder, model.block_embedder
    model.block_embedder = query
    names = [v.name for v in storage.embedder_variables(model)]
    self.assertCountEqual(names, {v.name for v in query.variables})
    self.assertNotEqual(storage.embedder_fingerprint(model), before)
    for variable, value in zip(query.variables, block.variables, strict=True):
      variable.assign(value)
    self.assertEqual(storage.embedder_fingerprint(model), before)


if __name__ == '__main__':
  absltest.main()
