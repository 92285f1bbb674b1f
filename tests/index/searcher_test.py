"""Tests that all searchers keep the protocol and agree with exact search."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import brute_force
from realm_tf.index import device_searcher
from realm_tf.index import faiss_searcher
from realm_tf.index import scann_searcher
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import tuning
from realm_tf.records import null_block

_APPROXIMATE = (scann_searcher.ScannSearcher, faiss_searcher.FaissSearcher)
_ALL_LEAVES = config_lib.IndexConfig(leaves_to_search_fraction=1.0)
_EXHAUSTIVE = config_lib.IndexConfig(
  num_leaves=10, leaves_to_search_fraction=1.0, num_to_rescore=1000
)


def _normal(*shape):
  return np.random.default_rng(0).normal(size=shape).astype(np.float32)


class SearcherTest(parameterized.TestCase):
  @parameterized.product(kind=_APPROXIMATE, k=(1, 5, 100))
  def test_exhaustive_search_agrees_with_brute_force(self, kind, k):
    blocks, queries = _normal(1000, 16), -_normal(8, 16)
    expected = brute_force.BruteForceSearcher(blocks).search(queries, k)
    actual = kind.build(blocks, _EXHAUSTIVE).search(queries, k)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_allclose(actual.scores, expected.scores, rtol=1e-5)

  @parameterized.parameters(
    brute_force.BruteForceSearcher,
    device_searcher.DeviceSearcher,
    lambda blocks: faiss_searcher.FaissSearcher.build(blocks, _EXHAUSTIVE),
    lambda blocks: scann_searcher.ScannSearcher.build(blocks, _EXHAUSTIVE),
  )
  def test_batch_agrees_with_single_queries(self, build):
    queries = -_normal(4, 8)
    searcher = build(_normal(100, 8))
    together = searcher.search(queries, 3)
    self.assertEqual(together.block_ids.dtype, np.int32)
    self.assertEqual(together.scores.dtype, np.float32)
    for row in range(4):
      alone = searcher.search(queries[row : row + 1], 3)
      np.testing.assert_array_equal(alone.block_ids[0], together.block_ids[row])
      np.testing.assert_allclose(
        alone.scores[0], together.scores[row], rtol=1e-5
      )

  @parameterized.parameters(*_APPROXIMATE)
  def test_missing_hits_have_no_id(self, kind):
    # One of 8 partitions is searched; a partition has about 5 of 40 blocks.
    config = config_lib.IndexConfig(
      num_leaves=8, leaves_to_search_fraction=1 / 8, num_to_rescore=40
    )
    blocks = _normal(40, 8)
    neighbors = kind.build(blocks, config).search(blocks[:3], 30)
    self.assertEqual(neighbors.block_ids.shape, (3, 30))
    for row in range(3):
      found = neighbors.block_ids[row] != null_block.ID
      count = int(found.sum())
      self.assertBetween(count, 1, 29)
      self.assertTrue(found[:count].all())  # Missing hits come last.
      self.assertTrue(np.isneginf(neighbors.scores[row, count:]).all())
      np.testing.assert_allclose(
        neighbors.scores[row, :count],
        blocks[neighbors.block_ids[row, :count]] @ blocks[row],
        rtol=1e-5,
      )
      self.assertLen(set(neighbors.block_ids[row, :count].tolist()), count)

  # An odd width has a code for each dimension.
  @parameterized.product(kind=_APPROXIMATE, width=(3, 4))
  def test_smallest_corpus(self, kind, width):
    blocks = _normal(tuning.MIN_BLOCKS, width)
    neighbors = kind.build(blocks, _ALL_LEAVES).search(blocks[:2], 25)
    for row in searcher_lib.fill(neighbors, 25).block_ids.tolist():
      self.assertEqual(sorted(row[:16]), list(range(16)))
      self.assertEqual(row[16:], [null_block.ID] * 9)

  # With 3000 blocks, SOAR adds a second partition for each block.
  @parameterized.parameters(
    (faiss_searcher.FaissSearcher, 200),
    (scann_searcher.ScannSearcher, 200),
    (scann_searcher.ScannSearcher, 3000),
  )
  def test_building_twice_gives_the_same_files(self, kind, num_blocks):
    files = []
    for _ in range(2):
      searcher = kind.build(_normal(num_blocks, 8), config_lib.IndexConfig())
      path = pathlib.Path(self.create_tempdir().full_path)
      searcher.save(str(path))
      files.append({file.name: file.read_bytes() for file in path.iterdir()})
    self.assertEqual(files[0], files[1])
    self.assertEqual('hashed_dataset_soar.npy' in files[0], num_blocks == 3000)

  @parameterized.parameters(*_APPROXIMATE)
  def test_more_effort_finds_more(self, kind):
    blocks = _normal(2000, 8)
    searcher = kind.build(blocks, config_lib.IndexConfig(num_leaves=40))
    scores = [
      searcher.with_effort(searcher_lib.Effort(*effort))
      .search(-blocks[:50], 10)
      .scores.mean()
      for effort in ((2, 10), (20, 10), (20, 200))
    ]
    self.assertLess(scores[0], scores[1])
    self.assertLess(scores[1], scores[2])


if __name__ == '__main__':
  absltest.main()
