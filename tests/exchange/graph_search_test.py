"""Tests for realm_tf.exchange.graph_search."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.exchange import graph_search
from realm_tf.index import exact_search


class GraphSearchTest(parameterized.TestCase):
  @parameterized.product(number=[1, 7, 64, 300], k=[1, 5, 100])
  def test_agrees_with_brute_force(self, number, k):
    rng = np.random.default_rng(0)
    # With whole numbers, many scores are equal, and all are exact.
    embeddings = rng.integers(-2, 3, [number, 4]).astype(np.float32)
    queries = rng.integers(-2, 3, [6, 4]).astype(np.float32)
    k = min(k, number)
    module = graph_search.ExactSearch(embeddings)
    spec = [tf.TensorSpec([None, 4], tf.float32)]
    with mock.patch.object(exact_search, '_MAX_CHUNK_ROWS', 64):
      find = tf.function(
        lambda queries: module.find(queries, k), input_signature=spec
      )
      ids, scores = find(queries)
    expected = exact_search.BruteForceSearcher(embeddings).search(queries, k)
    np.testing.assert_array_equal(ids, expected.block_ids)
    np.testing.assert_array_equal(scores, expected.scores)

  def test_an_empty_batch_finds_nothing(self):
    module = graph_search.ExactSearch(np.ones([3, 4], np.float32))
    ids, _ = module.find(tf.zeros([0, 4]), 2)
    self.assertEqual(ids.shape, (0, 2))


if __name__ == '__main__':
  absltest.main()
