"""Tests for realm_tf.index.brute_force."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.index import brute_force


def _float(values):
  return np.array(values, np.float32)


def _slow(embeddings, query, k):
  """Returns [(block, score)] by sorting pairs in plain Python."""
  scores = [(-float(query @ block), i) for i, block in enumerate(embeddings)]
  return [(i, -score) for score, i in sorted(scores)[:k]]


class BruteForceSearcherTest(parameterized.TestCase):
  def test_ranks_by_inner_product(self):
    # Inner products with (1, 1): 1, 2, 6; with (1, -1): 1, -2, 0.
    neighbors = brute_force.BruteForceSearcher(
      _float([[1, 0], [0, 2], [3, 3]])
    ).search(_float([[1, 1], [1, -1]]), k=2)
    np.testing.assert_array_equal(neighbors.block_ids, [[2, 1], [0, 2]])
    np.testing.assert_array_equal(neighbors.scores, [[6, 2], [1, 0]])
    self.assertEqual(neighbors.block_ids.dtype, np.int32)
    self.assertEqual(neighbors.scores.dtype, np.float32)

  def test_fewer_blocks_than_k_give_fewer_columns(self):
    neighbors = brute_force.BruteForceSearcher(_float([[1], [2]])).search(
      _float([[1], [-1], [1]]), k=5
    )
    np.testing.assert_array_equal(neighbors.block_ids, [[1, 0], [0, 1], [1, 0]])

  @parameterized.parameters(1, 3, 999)
  def test_equal_scores_are_ordered_by_id(self, k):
    neighbors = brute_force.BruteForceSearcher(np.ones([1000, 2], np.float32))
    ids = neighbors.search(_float([[1, 1], [0, 0]]), k).block_ids
    np.testing.assert_array_equal(ids, [np.arange(k)] * 2)

  # Small integers are exact in float32 and have many ties. With chunks of 7
  # blocks, the last chunk is shorter than k.
  @parameterized.product(chunk=(1, 7, 300), k=(1, 5, 299))
  def test_chunks_agree_with_sorting(self, chunk, k):
    rng = np.random.default_rng(0)
    embeddings = rng.integers(-2, 3, [300, 3]).astype(np.float32)
    queries = rng.integers(-2, 3, [6, 3]).astype(np.float32)
    with mock.patch.object(brute_force, '_CHUNK_BLOCKS', chunk):
      neighbors = brute_force.BruteForceSearcher(embeddings).search(queries, k)
    for row, query in enumerate(queries):
      self.assertEqual(
        list(zip(neighbors.block_ids[row], neighbors.scores[row])),
        _slow(embeddings, query, k),
      )


if __name__ == '__main__':
  absltest.main()
