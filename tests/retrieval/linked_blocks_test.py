"""Tests for realm_tf.retrieval.linked_blocks."""

import functools
from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.data import link_graph
from realm_tf.index import exact_search
from realm_tf.model import path_scorer
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import word_search

# Blocks of five articles: 0, 1 | 2 | 3, 4 | 5 | 6.
# 0 links to 1, 2; 3 to 0; 4 to 2.
_ARTICLE_ROWS = np.array([0, 0, 1, 2, 2, 3, 4], np.int32)
_LINKS = np.array([[0, 1], [0, 2], [3, 0], [4, 2]]).T
# Scores of blocks 0 to 6 for two queries.
_SCORES = np.array([[9, 1, 3, 5, 7, 2, 8], [0, 0, 0, 0, 0, 6, 4]], np.float32)


def _linked():
  graph = link_graph.graph_of(*_LINKS, 5)
  return linked_blocks.LinkedBlocks(graph, _ARTICLE_ROWS)


def _expand(block_ids, k):
  """Expands the blocks as seeds, scored by _SCORES."""
  ids = np.array(block_ids, np.int32)
  scores = np.where(
    ids >= 0, np.take_along_axis(_SCORES[: len(ids)], ids, 1), -np.inf
  )
  seeds = interfaces.Neighbors(ids, scores.astype(np.float32))
  return _linked().expand(seeds, lambda rows, blocks: _SCORES[rows, blocks], k)


class LinkedBlocksTest(absltest.TestCase):
  def test_scores_are_means_of_a_block_and_its_seed(self):
    # Article 0 links to 1 and 2, and 3 links to it: blocks 2, 3, 4 and 5.
    found = _expand([[0]], 6)
    self.assertEqual(found.block_ids.tolist(), [[0, 4, 3, 2, 5, -1]])
    np.testing.assert_array_equal(
      found.scores, [[9, (7 + 9) / 2, (5 + 9) / 2, (3 + 9) / 2, 5.5, -np.inf]]
    )

  def test_the_best_seed_counts_and_a_seed_can_score_higher(self):
    # Article 4 (block 6) links to 2, whose block 4 is a seed as well. Article 2
    # leads back to 0 and 4: (9 + 7) / 2 < 9, and block 1 by (1 + 7) / 2 = 4.
    found = _expand([[6, 4]], 9)
    best = dict(zip(found.block_ids[0].tolist(), found.scores[0].tolist()))
    expected = {6: 8, 0: 8, 4: 7.5, 3: (5 + 8) / 2, 1: 4, -1: -np.inf}
    self.assertEqual(best, expected)

  def test_queries_do_not_mix_and_k_cuts(self):
    found = _expand([[0, -1], [6, -1]], 2)
    self.assertEqual(found.block_ids.tolist(), [[0, 4], [6, 3]])
    self.assertEqual(found.scores.tolist(), [[9, 8], [4, 2]])
    self.assertEqual(found.block_ids.dtype, np.int32)
    self.assertEqual(found.scores.dtype, np.float32)

  @mock.patch.object(linked_blocks, 'NUM_SEEDS', 1)
  def test_only_the_first_seeds_are_followed(self):
    # Article 3 links to 0; the links of 4 are not followed.
    found = _expand([[5, 6]], 9)
    self.assertEqual(sorted(found.block_ids[0].tolist())[-4:], [0, 1, 5, 6])
    self.assertEqual(np.sum(found.block_ids >= 0), 4)

  @mock.patch.object(linked_blocks, 'MAX_LINKS', 1)
  def test_an_articles_first_links_are_followed(self):
    found = _expand([[0]], 9)  # To article 1, not to 2; from article 3.
    self.assertEqual(found.block_ids[0, :4].tolist(), [0, 2, 5, -1])

  def test_what_is_behind_a_block_is_ranked_by_place(self):
    blocks = np.array([0, -1, 5, 0, 2])  # Article 0 links to blocks 2, 3, 4.
    scores = np.zeros([len(blocks), 7])
    scores[0, [2, 3, 4]] = 1, 3, 2
    scores[3, [2, 3, 4]] = 3, 1, 2
    found = _linked().targets(blocks, lambda rows, ids: scores[rows, ids], 2)
    # Only forwards: article 3 (block 5) links to 0, and none links from 1.
    self.assertEqual(found[:2].tolist(), [[3, 4], [-1, -1]])
    self.assertEqual(sorted(found[2].tolist()), [0, 1])
    self.assertEqual(found[3:].tolist(), [[2, 4], [-1, -1]])


class AdaptersTest(absltest.TestCase):
  def test_embeddings_score_what_links_lead_to(self):
    # Inner products with the queries [1, 0] and [0, 1] are _SCORES.
    embeddings = np.ascontiguousarray(_SCORES.T)
    exact = exact_search.BruteForceSearcher(embeddings)
    searcher = linked_blocks.LinkedSearcher(_linked(), exact, embeddings)
    queries = np.eye(2, dtype=np.float32)
    with mock.patch.object(linked_blocks, 'NUM_SEEDS', 1):
      found = searcher.search(queries, 1)
      self.assertEqual(found.block_ids.tolist(), [[0], [5]])
      self.assertEqual(found.scores.tolist(), [[9], [6]])
      two = searcher.search(queries[::-1], 3)
    # Seeds 5, 6, ... and article 3's link to 0: (0 + 6) / 2 twice.
    self.assertEqual(two.block_ids[0].tolist(), [5, 6, 0])
    self.assertEqual(two.scores[0].tolist(), [6, 4, 3])

  def test_bm25_finds_an_article_by_a_link_to_it(self):
    titles = ['Fuzhou'] * 2 + ['Peru'] + ['China'] * 2 + ['Lima', 'Oslo']
    texts = ['a city', 'near the sea', 'money: sol', 'money: yuan', 'big']
    texts += ['a city', 'money']
    sparse = word_search.Bm25Retriever(titles, texts)
    graph = link_graph.graph_of(np.array([0, 3]), np.array([2, 1]), 5)
    linked = linked_blocks.LinkedBm25(
      linked_blocks.LinkedBlocks(graph, _ARTICLE_ROWS), sparse
    )
    questions = ['Fuzhou money', 'the', 'Lima money']
    with mock.patch.object(linked_blocks, 'NUM_SEEDS', 2):
      found = linked.retrieve(retriever_lib.of_texts(questions), 3)
    # By words alone, the blocks of Peru and China have equal scores.
    self.assertIn(3, found.block_ids[0].tolist())
    self.assertNotIn(2, found.block_ids[0].tolist())
    self.assertIn(2, found.block_ids[2].tolist())
    self.assertNotIn(3, found.block_ids[2].tolist())

  def test_bm25_scores_of_pairs_equal_the_ranking(self):
    sparse = word_search.Bm25Retriever(
      ['red', 'blue', 'green'], ['a', 'red', 'red x']
    )
    questions = ['what red?', 'the', 'blue red']
    found = sparse.retrieve(retriever_lib.of_texts(questions), 3)
    rows, columns = np.nonzero(found.block_ids >= 0)
    scores = sparse.score(questions, rows, found.block_ids[rows, columns])
    np.testing.assert_allclose(scores, found.scores[rows, columns])
    self.assertGreater(scores.max(), 0)
    self.assertEqual(sparse.score(questions, [1], np.array([0])).tolist(), [0])


# Blocks of four articles: 0, 1 | 2 | 3, 4 | 5. 0 links to 1 and 2, 2 to 1.
_PATH_ROWS = np.array([0, 0, 1, 2, 2, 3], np.int32)
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
    graph = link_graph.graph_of(*_EDGES, 4)
    self.linked = linked_blocks.LinkedBlocks(graph, _PATH_ROWS)
    self.paths = functools.partial(
      linked_blocks.find_paths, self.linked, self.embeddings
    )

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
      blocks, vectors = self.paths(self.queries[:2], seeds)
    scores = self.embeddings[[2, 3, 4]] @ self.queries[0]
    kept = (2 + np.argsort(-scores)[:2]).tolist()
    self.assertEqual(
      blocks.tolist(), [[[0, *kept], [-1, -1, -1]], [[3, 2, -1], [2, -1, -1]]]
    )
    np.testing.assert_array_equal(vectors[0, 0], self.embeddings[[0, *kept]])


if __name__ == '__main__':
  absltest.main()
