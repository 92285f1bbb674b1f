"""Tests for realm_tf.index.milvus_searcher."""

import os
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.index import exact_search
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import searchers
from realm_tf.index import storage
from realm_tf.run import versions
from tests.index import milvus
from tests.index import small

pymilvus, milvus_searcher = milvus.pymilvus, milvus.milvus_searcher


def _vectors(number, seed=0):
  return np.random.default_rng(seed).normal(size=(number, 8)).astype('f')


class MilvusSearcherTest(milvus.MilvusCase):
  def setUp(self):
    super().setUp()
    self.blocks, self.queries = _vectors(300), _vectors(7, seed=1)
    self.config = config_lib.IndexConfig(
      searcher='milvus', uri=self.uri, num_leaves=4
    )

  def _build(self):
    return milvus_searcher.MilvusSearcher.build(self.blocks, self.config)

  def _exact(self, k):
    return exact_search.BruteForceSearcher(self.blocks).search(self.queries, k)

  def test_searching_all_leaves_is_exact(self):
    searcher = self._build()
    found = searcher.search(self.queries, 305, searcher_lib.Effort(4, 300))
    expected = self._exact(300)
    np.testing.assert_array_equal(found.block_ids[:, :300], expected.block_ids)
    np.testing.assert_allclose(
      found.scores[:, :300], expected.scores, rtol=1e-4, atol=1e-5
    )
    # There are no more blocks.
    self.assertTrue((found.block_ids[:, 300:] == interfaces.NULL_BLOCK).all())
    self.assertTrue(np.isneginf(found.scores[:, 300:]).all())
    few = searcher_lib.Effort(1, 300)
    less = searcher.search(self.queries, 10, few).block_ids
    self.assertLess((less == expected.block_ids[:, :10]).mean(), 1)

  def test_many_queries_and_rows_are_sent_in_parts(self):
    with (
      mock.patch.object(milvus_searcher, '_INSERT_BYTES', 4 * 8 * 77),
      mock.patch.object(milvus_searcher, '_MAX_QUERIES', 3),
    ):
      effort = searcher_lib.Effort(4, 300)
      found = self._build().search(self.queries, 5, effort)
    np.testing.assert_array_equal(found.block_ids, self._exact(5).block_ids)

  def test_is_tuned_saved_and_loaded_as_other_searchers(self):
    queries = _vectors(64, seed=2)
    built = searchers.build(self.blocks, self.config, queries, (5,))
    self.assertGreaterEqual(built.settings['efforts'][0]['measured'], 0.95)
    path = self.create_tempdir().full_path
    searchers.save(built.searcher, path)
    self.assertEqual(os.listdir(path), ['milvus.json'])
    loaded = searchers.load(built.settings, path, self.blocks)
    np.testing.assert_array_equal(
      loaded.search(self.queries, 5).block_ids,
      built.searcher.search(self.queries, 5).block_ids,
    )

  def _complete(self, root, step):
    """Completes an index version of the blocks; returns its collection."""
    before = set(self.client.list_collections())
    small.complete(root, step, self.blocks, config=self.config)
    (collection,) = set(self.client.list_collections()) - before
    return collection

  def test_a_version_is_a_collection_and_the_alias_is_the_newest(self):
    root = self.create_tempdir().full_path
    first = self._complete(root, 1)
    self.assertEqual(self.alias(root), first)
    with (
      mock.patch.object(
        pymilvus.MilvusClient,
        'create_index',
        side_effect=pymilvus.MilvusException(message='no room'),
      ),
      self.assertRaisesRegex(errors.UserError, 'no room'),
    ):
      self._complete(root, 2)
    self.assertEqual(self.alias(root), first)
    self.assertEqual(self.client.list_collections(), [first])
    second = self._complete(root, 3)
    self.assertEqual(self.alias(root), second)
    self.assertCountEqual(self.client.list_collections(), [first, second])
    storage.prune(root, keep=1)
    self.assertEqual(self.client.list_collections(), [second])
    index = storage.load(versions.newest(root).path, small.FINGERPRINT)
    self.assertEqual(
      index.searcher.search(self.queries, 5).block_ids.shape, (7, 5)
    )

  def test_no_server_and_no_collection_are_user_errors(self):
    config = config_lib.IndexConfig(searcher='milvus')
    with self.assertRaisesRegex(errors.UserError, 'Found none'):
      milvus_searcher.MilvusSearcher.build(self.blocks, config)
    searcher = self._build()
    path = self.create_tempdir().full_path
    searcher.save(path)
    milvus_searcher.MilvusSearcher.drop(path)
    with self.assertRaisesRegex(errors.UserError, '`index.uri` must be'):
      milvus_searcher.MilvusSearcher.load(path, 4)


if __name__ == '__main__':
  absltest.main()
