"""Tests for realm_tf.retrieval.retrieval_layer."""

import numpy as np
import tensorflow as tf

from realm_tf.index import exact_search
from realm_tf.retrieval import retrievers

_QUERIES = np.array([[5, 6, 7], [7, 5, 6]], np.int32)


class RetrievalLayerTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    # Wordpieces of a query are its embedding; blocks are the unit vectors.
    self.layer = retrievers.RetrievalLayer(
      lambda ids: ids.astype(np.float32),
      exact_search.BruteForceSearcher(np.eye(3, dtype=np.float32)),
    )

  def test_finds_the_best_of_each_query(self):
    found = self.layer(_QUERIES, k=2)
    self.assertAllEqual(found.block_ids, [[2, 1], [0, 2]])
    self.assertAllEqual(found.scores, [[7, 6], [7, 6]])

  def test_fills_rows_of_a_small_index(self):
    found = self.layer(_QUERIES, k=5)
    self.assertAllEqual(found.block_ids, [[2, 1, 0, -1, -1], [0, 2, 1, -1, -1]])
    self.assertAllEqual(found.scores[0], [7, 6, 5, -np.inf, -np.inf])
    self.assertEqual(found.block_ids.dtype, np.int32)
    self.assertEqual(found.scores.dtype, np.float32)


if __name__ == '__main__':
  tf.test.main()
