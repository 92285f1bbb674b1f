"""Tests for realm_tf.retrieval.retrieval_layer."""

import numpy as np
import tensorflow as tf

from realm_tf.index import brute_force
from realm_tf.retrieval import retrieval_layer

_BLOCKS = np.array([[1, 0], [0, 2], [3, 3]], np.float32)
_QUERIES = tf.constant([[1.0, 1.0], [1.0, -1.0]])


def _layer(num_blocks):
  return retrieval_layer.RetrievalLayer(
    brute_force.BruteForceSearcher(_BLOCKS), num_blocks
  )


class RetrievalLayerTest(tf.test.TestCase):
  def test_finds_the_best_blocks(self):
    # Inner products with (1, 1): 1, 2, 6; with (1, -1): 1, -2, 0.
    ids, scores = _layer(2)(_QUERIES)
    self.assertAllEqual(ids, [[2, 1], [0, 2]])
    self.assertAllEqual(scores, [[6, 2], [1, 0]])

  def test_compiled_function_sees_an_exchanged_searcher(self):
    layer = _layer(2)
    search = tf.function(layer)
    self.assertAllEqual(search(_QUERIES)[0], [[2, 1], [0, 2]])
    # Block 0 moves to (9, 9): inner products 18 and 0, so 18, 2, 6 and
    # 0, -2, 0, of which the smaller id comes first.
    newer = _BLOCKS.copy()
    newer[0] = 9
    layer.searcher = brute_force.BruteForceSearcher(newer)
    self.assertAllEqual(search(_QUERIES)[0], [[0, 2], [0, 2]])
    self.assertAllEqual(search(_QUERIES)[1], [[18, 6], [0, 0]])
    self.assertEqual(search.experimental_get_tracing_count(), 1)

  def test_blocks_gradients(self):
    layer = _layer(2)
    with tf.GradientTape() as tape:
      tape.watch(_QUERIES)
      _, scores = tf.function(layer)(_QUERIES)
      loss = tf.reduce_sum(scores) + tf.reduce_sum(_QUERIES**2)
    # Of the second term only.
    self.assertAllClose(tape.gradient(loss, _QUERIES), 2 * _QUERIES)

  def test_shapes_are_known_in_a_graph(self):
    @tf.function(input_signature=[tf.TensorSpec([4, 2])])
    def search(queries):
      ids, scores = layer(queries)
      shapes.append((ids.shape.as_list(), scores.shape.as_list()))
      return ids

    layer, shapes = _layer(3), []
    search(tf.zeros([4, 2]))
    self.assertEqual(shapes, [([4, 3], [4, 3])])

  def test_small_index_is_filled_up(self):
    ids, scores = tf.function(_layer(5))(_QUERIES)
    self.assertAllEqual(ids, [[2, 1, 0, -1, -1], [0, 2, 1, -1, -1]])
    self.assertAllEqual(scores[1], [1, 0, -2, -np.inf, -np.inf])


if __name__ == '__main__':
  tf.test.main()
