"""Tests that every searcher agrees with exact search."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import brute_force
from realm_tf.index import device_searcher
from realm_tf.index import faiss_searcher
from realm_tf.index import scann_searcher

_EXHAUSTIVE = config_lib.IndexConfig(
  num_leaves=10, leaves_to_search_fraction=1.0, num_to_rescore=1000
)


class SearcherTest(parameterized.TestCase):
  @parameterized.product(
    kind=(scann_searcher.ScannSearcher, faiss_searcher.FaissSearcher),
    k=(1, 5, 100),
  )
  def test_exhaustive_search_agrees_with_brute_force(self, kind, k):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=[1000, 16]).astype(np.float32)
    queries = rng.normal(size=[8, 16]).astype(np.float32)
    expected = brute_force.BruteForceSearcher(blocks).search(queries, k)
    actual = kind.build(blocks, _EXHAUSTIVE).search(queries, k)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_allclose(actual.scores, expected.scores, rtol=1e-5)

  @parameterized.named_parameters(
    ('brute_force', brute_force.BruteForceSearcher),
    ('device', device_searcher.DeviceSearcher),
    (
      'faiss',
      lambda blocks: faiss_searcher.FaissSearcher.build(blocks, _EXHAUSTIVE),
    ),
    (
      'scann',
      lambda blocks: scann_searcher.ScannSearcher.build(blocks, _EXHAUSTIVE),
    ),
  )
  def test_batch_agrees_with_single_queries(self, build):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=[100, 8]).astype(np.float32)
    queries = rng.normal(size=[4, 8]).astype(np.float32)
    searcher = build(blocks)
    together = searcher.search(queries, 3)
    self.assertEqual(together.block_ids.dtype, np.int32)
    self.assertEqual(together.scores.dtype, np.float32)
    for row in range(4):
      alone = searcher.search(queries[row : row + 1], 3)
      np.testing.assert_array_equal(alone.block_ids[0], together.block_ids[row])
      np.testing.assert_allclose(
        alone.scores[0], together.scores[row], rtol=1e-5
      )


if __name__ == '__main__':
  absltest.main()
