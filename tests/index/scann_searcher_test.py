"""Tests for realm_tf.index.scann_searcher; see searcher_test for agreement."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import scann_searcher
from realm_tf.index import tuning
from realm_tf.records import null_block


def _normal(*shape):
  return np.random.default_rng(0).normal(size=shape).astype(np.float32)


class ScannSearcherTest(parameterized.TestCase):
  def _saved(self, searcher, name):
    path = os.path.join(self.create_tempdir().full_path, name)
    os.makedirs(path)
    searcher.save(path)
    return path

  def test_what_is_not_found_has_no_id(self):
    # One of 8 partitions is searched, and it holds about 5 of 40 blocks.
    config = config_lib.IndexConfig(
      num_leaves=8, leaves_to_search_fraction=1 / 8, num_to_rescore=40
    )
    blocks = _normal(40, 8)
    neighbors = scann_searcher.ScannSearcher.build(blocks, config).search(
      blocks[:3], 30
    )
    self.assertEqual(neighbors.block_ids.shape, (3, 30))
    for row in range(3):
      found = neighbors.block_ids[row] != null_block.ID
      count = int(found.sum())
      self.assertBetween(count, 1, 29)
      self.assertTrue(found[:count].all())  # Missing ones are behind.
      self.assertTrue(np.isneginf(neighbors.scores[row, count:]).all())
      np.testing.assert_allclose(
        neighbors.scores[row, :count],
        blocks[neighbors.block_ids[row, :count]] @ blocks[row],
        rtol=1e-5,
      )
      self.assertLen(set(neighbors.block_ids[row, :count].tolist()), count)

  def test_more_than_all_blocks_are_asked_for(self):
    blocks = _normal(20, 4)
    config = config_lib.IndexConfig(leaves_to_search_fraction=1.0)
    ids = scann_searcher.ScannSearcher.build(blocks, config).search(
      blocks[:2], 25
    )[0]
    for row in ids:
      self.assertEqual(sorted(row[:20].tolist()), list(range(20)))
      self.assertEqual(row[20:].tolist(), [null_block.ID] * 5)

  def test_smallest_corpus(self):
    blocks = np.eye(tuning.MIN_BLOCKS, dtype=np.float32)
    config = config_lib.IndexConfig(leaves_to_search_fraction=1.0)
    neighbors = scann_searcher.ScannSearcher.build(blocks, config).search(
      blocks, 1
    )
    self.assertEqual(neighbors.block_ids[:, 0].tolist(), list(range(16)))

  @parameterized.parameters(200, 3000)  # Without and with SOAR.
  def test_building_twice_gives_the_same_files(self, num_blocks):
    blocks = _normal(num_blocks, 8)
    files = []
    for name in ('first', 'second'):
      searcher = scann_searcher.ScannSearcher.build(
        blocks, config_lib.IndexConfig()
      )
      path = pathlib.Path(self._saved(searcher, name))
      files.append({file.name: file.read_bytes() for file in path.iterdir()})
    self.assertEqual(files[0], files[1])
    self.assertEqual('hashed_dataset_soar.npy' in files[0], num_blocks == 3000)

  def test_soar_finds_more_in_as_many_partitions(self):
    blocks, queries = _normal(3000, 16), -_normal(200, 16)
    exact = np.argsort(-(queries @ blocks.T), axis=1)[:, :10]
    recalls = []
    for soar_lambda in (None, 1.5):
      config = config_lib.IndexConfig(leaves_to_search_fraction=0.1)
      with mock.patch.object(scann_searcher, '_SOAR_LAMBDA', soar_lambda):
        searcher = scann_searcher.ScannSearcher.build(blocks, config)
      recalls.append(tuning.recall(searcher.search(queries, 10)[0], exact))
    self.assertGreater(recalls[1], recalls[0] + 0.02)

  def test_one_query_finds_what_it_finds_in_a_batch(self):
    blocks, queries = _normal(2000, 8), -_normal(40, 8)
    searcher = scann_searcher.ScannSearcher.build(
      blocks, config_lib.IndexConfig()
    )
    together = searcher.search(queries, 10).block_ids
    alone = [searcher.search(query[None], 10).block_ids for query in queries]
    # A batch rounds its tables otherwise, so the last of 10 may differ.
    self.assertGreater(tuning.recall(np.concatenate(alone), together), 0.97)

  def test_nothing_is_unpickled(self):
    built = scann_searcher.ScannSearcher.build(
      _normal(100, 4), config_lib.IndexConfig()
    )
    path = self._saved(built, 'here')
    # Reading it would raise.
    pathlib.Path(path, 'scann_docids.pkl').write_bytes(b'no pickle')
    scann_searcher.ScannSearcher.load(path, built.num_leaves, built.effort)

  def test_saved_searcher_may_move(self):
    blocks, queries = _normal(200, 8), -_normal(5, 8)
    config = config_lib.IndexConfig(leaves_to_search_fraction=0.5)
    built = scann_searcher.ScannSearcher.build(blocks, config)
    path = self._saved(built, 'before')
    os.rename(path, path + '_moved')
    loaded = scann_searcher.ScannSearcher.load(
      path + '_moved', built.num_leaves, built.effort
    )
    for actual, expected in zip(
      loaded.search(queries, 7), built.search(queries, 7)
    ):
      np.testing.assert_array_equal(actual, expected)


if __name__ == '__main__':
  absltest.main()
