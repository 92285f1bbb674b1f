"""Tests for realm_tf.retrieval.path_searcher."""

from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.data import link_graph
from realm_tf.index import exact_search
from realm_tf.model import path_scorer
from realm_tf.retrieval import linked_blocks

# Blocks of four articles: 0, 1 | 2 | 3, 4 | 5. 0 links to 1 and 2, 2 to 1.
_ARTICLE_ROWS = np.array([0, 0, 1, 2, 2, 3], np.int32)
_EDGES = np.array([[0, 1], [0, 2], [2, 1]]).T
_TARGETS = {0: [2, 3, 4], 1: [2, 3, 4], 3: [2], 4: [2], 2: [], 5: []}
_SIZE = 4


def _exact(queries, embeddings, scorer):
  """Returns p(z|x) of all blocks, path by path, [Q, N]."""
  seeds = np.arange(len(embeddings))
  result = np.zeros([len(queries), len(seeds)])
  for row, query in enumerate(queries):
    for seed in seeds:
      # Other seeds are only in the first softmax.
      width = 1 + max(map(len, _TARGETS.values()))
      blocks = np.zeros([len(seeds), width], np.int32)
      exists = np.zeros(blocks.shape, bool)
      for place, other in enumerate(seeds):
        own = [other, *(_TARGETS[other] if other == seed else ())]
        blocks[place, : len(own)], exists[place, : len(own)] = own, True
      paths = scorer(
        tf.constant(query[None]),
        tf.constant(embeddings[blocks][None]),
        tf.constant(exists[None]),
      )[0, seed].numpy()
      ends = blocks[seed][exists[seed]]
      np.add.at(result[row], ends, np.exp(paths[exists[seed]]))
  return result


class PathSearcherTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.embeddings = rng.normal(size=[6, _SIZE]).astype(np.float32)
    self.queries = rng.normal(size=[3, _SIZE]).astype(np.float32)
    self.scorer = path_scorer.PathScorer(_SIZE)
    self._call = tf.zeros([1, _SIZE]), tf.zeros([1, 1, 2, _SIZE])
    self.scorer(*self._call, tf.ones([1, 1, 2]) > 0)
    for variable in self.scorer.variables:
      variable.assign(rng.normal(size=variable.shape))
    graph = link_graph.LinkGraph.from_edges(*_EDGES, 4)
    self.linked = linked_blocks.LinkedBlocks(graph, _ARTICLE_ROWS)
    self.paths = linked_blocks.Paths(self.linked, self.embeddings)

  def _searcher(self):
    exact = exact_search.BruteForceSearcher(self.embeddings)
    return linked_blocks.PathSearcher(self.paths, exact, self.scorer)

  def test_a_block_has_the_probability_of_all_of_its_paths(self):
    found = self._searcher().search(self.queries, 6)
    expected = _exact(self.queries, self.embeddings, self.scorer)
    np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-5)
    self.assertEqual(sorted(found.block_ids[0].tolist()), [*range(6)])
    np.testing.assert_allclose(
      np.exp(found.scores),
      np.take_along_axis(expected, found.block_ids, 1),
      rtol=1e-4,
    )
    self.assertTrue((np.diff(found.scores) <= 0).all())

  def test_fewer_and_more_blocks_than_k(self):
    with mock.patch.object(linked_blocks, 'NUM_PATH_SEEDS', 1):
      found = self._searcher().search(self.queries, 6)
      best = (self.queries @ self.embeddings.T).argmax(axis=1)
      for row, seed in enumerate(best):
        reached = found.block_ids[row]
        self.assertEqual(
          sorted(reached[reached >= 0].tolist()),
          sorted([seed, *_TARGETS[seed]]),
        )
      first = self._searcher().search(self.queries, 1)
    np.testing.assert_array_equal(first.block_ids, found.block_ids[:, :1])

  def test_the_best_linked_blocks_of_a_seed_are_kept(self):
    seeds = np.array([[0, -1], [3, 2]], np.int32)
    with mock.patch.object(linked_blocks, 'NUM_TARGETS', 2):
      blocks, vectors = self.paths.of(self.queries[:2], seeds)
    scores = self.embeddings[[2, 3, 4]] @ self.queries[0]
    kept = (2 + np.argsort(-scores)[:2]).tolist()
    self.assertEqual(
      blocks.tolist(), [[[0, *kept], [-1, -1, -1]], [[3, 2, -1], [2, -1, -1]]]
    )
    np.testing.assert_array_equal(vectors[0, 0], self.embeddings[[0, *kept]])


if __name__ == '__main__':
  absltest.main()
