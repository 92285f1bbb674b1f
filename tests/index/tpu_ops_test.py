"""Tests that a TPU can embed blocks and search.

As in tests/training/tpu_ops_test.py: XLA gives the same numbers, all ops are in
a TPU's list, and each tensor has one size.
"""

from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.data import joining
from realm_tf.index import embedding
from realm_tf.index import exact_search
from tests import xla_graphs
from tests.index import small

_IDS = np.array([[5, 6, 7, 0], [8, 0, 0, 0], [9, 9, 5, 6]], np.int32)


class TpuOpsTest(tf.test.TestCase, parameterized.TestCase):
  def _check(self, functions):
    graphs = [graph for each in functions for graph in each.graphs()]
    self.assertLen(graphs, 1)
    self.assertGreater(xla_graphs.num_ops(graphs[0]), 20)
    self.assertEmpty(xla_graphs.problems(graphs[0]))

  @parameterized.parameters(('float32', 1e-4), ('bfloat16', 5e-2))
  def test_embedding_of_blocks(self, dtype, tolerance):
    model = small.model()
    with xla_graphs.recorded() as functions:
      embed = embedding.compile_blocks(model, small.SPECIAL_IDS, dtype)
      actual = embed(_IDS[:, :2], _IDS, 8)
    tokens = joining.pack(
      tf.constant(_IDS[:, :2]), tf.constant(_IDS), *small.SPECIAL_IDS, 8
    )
    self.assertAllClose(actual, model.block_embedder(tokens), atol=tolerance)
    self._check(functions)

  @parameterized.product(is_tpu=[True, False], dtype=['float32', 'bfloat16'])
  def test_search(self, is_tpu, dtype):
    rng = np.random.default_rng(0)
    # Small integers, which are exact in bfloat16.
    blocks = rng.integers(-9, 9, [300, 4]).astype(np.float32)
    queries = rng.integers(-9, 9, [8, 4]).astype(np.float32)
    with (
      mock.patch.object(exact_search, '_MAX_CHUNK_ROWS', 128),
      xla_graphs.recorded() as functions,
    ):
      search = tf.function(exact_search.top_rows)
      rows = tf.constant(exact_search.padded(blocks, dtype))
      top = exact_search.approximate_top if is_tpu else None
      found, scores = search(
        rows, tf.constant(queries), tf.constant(300), 5, top
      )
    expected = exact_search.BruteForceSearcher(blocks).search(queries, 5)
    # Without a TPU, XLA's approximate top is exact, except for ties.
    np.testing.assert_array_equal(scores, expected.scores)
    # No padding, [8, 5, 4].
    vectors = blocks[found.numpy()]
    np.testing.assert_array_equal(tf.linalg.matvec(vectors, queries), scores)
    self._check(functions)
    (graph,) = functions[0].graphs()
    self.assertEqual('ApproxTopK' in str(graph.as_graph_def()), is_tpu)


if __name__ == '__main__':
  tf.test.main()
