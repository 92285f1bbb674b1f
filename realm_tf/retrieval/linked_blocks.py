"""Retrieval along links between articles: GraphRetriever and PathRetriever.

A two-hop question names not the article with its answer, but an article that is
linked with it.

GraphRetriever is after Min et al. 2019 (https://arxiv.org/abs/1911.03868), who
rank paragraphs by TF-IDF and Wikipedia's links. Deviation: blocks are read one
by one, without the relation between two of them.

PathRetriever follows learned paths, after Asai et al. 2020
(https://arxiv.org/abs/1911.10470). Deviations: seeds are found by embeddings
instead of TF-IDF; a path has at most two blocks; the reader reads its last
block; all paths of the seeds are scored, without a beam.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import link_graph
from realm_tf.index import embedding_shards
from realm_tf.index import searcher as searcher_lib
from realm_tf.model import path_scorer
from realm_tf.retrieval import word_search

NUM_SEEDS = 10  # Best blocks; the links of their articles are followed.
# Links followed per article and direction: thousands link to a country.
MAX_LINKS = 1000
NUM_PATH_SEEDS = 16  # Blocks where a path may begin.
NUM_TARGETS = 32  # Linked blocks per seed: the nearest to the question.
# (rows of queries int [n], block ids int [n]) -> scores, float [n].
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
_Embeddings: TypeAlias = embedding_shards.Embeddings | np.ndarray  # [N, D].
# `find_paths` of some blocks: (queries, seeds) -> (blocks, embeddings).
Paths = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class LinkedBlocks:
  """Finds blocks of articles that are linked with given blocks' articles."""

  def __init__(self, graph: scipy.sparse.csr_array, article_rows: np.ndarray):
    self._graphs = graph, graph.T.tocsr()
    self._article_rows = article_rows  # Each block's article, ascending, [N].
    articles = np.arange(len(graph.indptr))
    self._first_blocks = np.searchsorted(article_rows, articles)  # [A + 1]

  @classmethod
  def over_table(cls, table: block_table.BlockTable) -> 'LinkedBlocks':
    """Opens the links of a corpus; UserError if it has none."""
    graph = link_graph.open_graph(
      table.corpus_dir, table.manifest, table.num_articles
    )
    return cls(graph, table.article_rows)

  def expand(
    self, seeds: interfaces.Neighbors, score: Score, k: int
  ) -> interfaces.Neighbors:
    """Returns the `k` best of `seeds` and the blocks linked with them.

    A linked block's score is the mean of its own score and the score of the
    best seed that leads to it. A seed never scores lower than in `seeds`.

    Follows the links of the first NUM_SEEDS seeds. `score` must score blocks
    like the search that found `seeds`.
    """
    rows, columns = np.nonzero(seeds.block_ids >= 0)
    blocks, scores = (array[rows, columns] for array in seeds)
    first = columns < NUM_SEEDS
    steps = rows[first], self._article_rows[blocks[first]], scores[first]
    rows2, blocks2, seed_scores = self._linked(self._graphs, *steps)
    own = score(rows2, blocks2)
    return _best(
      np.concatenate([rows, rows2]),
      np.concatenate([blocks, blocks2]),
      np.concatenate([scores, (own + seed_scores) / 2]),
      shape=(len(seeds.block_ids), k),
    )

  def targets(self, blocks: np.ndarray, score: Score, k: int) -> np.ndarray:
    """Returns the `k` best blocks that each block's article links to, [n, k].

    Negative ids in `blocks` and in the result are no blocks. The rows of
    `score` are indices into `blocks`.
    """
    (places,) = np.nonzero(blocks >= 0)
    articles = self._article_rows[blocks[places]]
    nothing = np.zeros(len(places), np.float32)
    forwards = self._graphs[:1]
    places, found, _ = self._linked(forwards, places, articles, nothing)
    own = score(places, found)
    return _best(places, found, own, shape=(len(blocks), k)).block_ids

  def _linked(
    self,
    graphs: Sequence[scipy.sparse.csr_array],
    rows: np.ndarray,
    articles: np.ndarray,
    scores: np.ndarray,
  ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns row, linked block and best seed score, each block once per row.

    The arguments are each seed's row, article and score.
    """
    links = []
    for graph in graphs:
      starts = graph.indptr[articles]
      stops = np.minimum(graph.indptr[articles + 1], starts + MAX_LINKS)
      targets, numbers = _gather(graph.indices, starts, stops)
      links.append(
        (np.repeat(rows, numbers), targets, np.repeat(scores, numbers))
      )
    rows, articles, scores = map(np.concatenate, zip(*links))
    kept = _first_of_each(rows, articles, scores)
    rows, articles, scores = rows[kept], articles[kept], scores[kept]
    starts, stops = (self._first_blocks[articles + i] for i in (0, 1))
    every = np.arange(len(self._article_rows))
    blocks, numbers = _gather(every, starts, stops)
    return np.repeat(rows, numbers), blocks, np.repeat(scores, numbers)


class LinkedSearcher:
  """A searcher over embeddings that also follows links."""

  def __init__(
    self,
    linked: LinkedBlocks,
    searcher: interfaces.Searcher,
    embeddings: _Embeddings,
  ):
    self._linked, self._searcher = linked, searcher
    self._embeddings = embeddings

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    seeds = self._searcher.search(queries, max(k, NUM_SEEDS))
    return self._linked.expand(seeds, _score(queries, self._embeddings), k)


class LinkedBm25:
  """BM25 that also follows links."""

  def __init__(self, linked: LinkedBlocks, sparse: word_search.Bm25Retriever):
    self._linked, self._sparse = linked, sparse

  @classmethod
  def over_table(cls, table: block_table.BlockTable) -> 'LinkedBm25':
    """Opens a corpus; UserError if it has no links."""
    return cls(LinkedBlocks.over_table(table), word_search.over_table(table))

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    seeds = self._sparse.retrieve(queries, max(k, NUM_SEEDS))
    return self._linked.expand(
      seeds, lambda *places: self._sparse.score(queries.texts, *places), k
    )


def find_paths(
  linked: LinkedBlocks,
  embeddings: _Embeddings,
  queries: np.ndarray,
  seeds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the last block of each path from given blocks, and its embedding.

  Args:
    embeddings: float32 [N, D].
    queries: float32 [Q, D].
    seeds: Blocks, int [Q, F]; negative for none.

  Returns:
    Blocks, int32 [Q, F, 1 + M]: each seed and the M best blocks that it links
    to; -1 where there are fewer. Embeddings, float32 [Q, F, 1 + M, D].
  """
  score = _score(np.repeat(queries, seeds.shape[1], 0), embeddings)
  targets = linked.targets(seeds.ravel(), score, NUM_TARGETS)
  blocks = np.concatenate(
    [seeds[..., None], targets.reshape(*seeds.shape, NUM_TARGETS)], axis=-1
  )
  return blocks, _read_vectors(embeddings, np.maximum(blocks, 0))


class PathSearcher:
  """Searches by p(z|x), the sum of p(path|x) over the paths to a block."""

  def __init__(
    self,
    paths: Paths,
    searcher: interfaces.Searcher,
    scorer: path_scorer.PathScorer,
  ):
    self._paths, self._searcher = paths, searcher
    self._score = tf.function(
      lambda queries, blocks, exists: scorer(queries, blocks, exists),
      input_signature=[
        tf.TensorSpec([None, None]),
        tf.TensorSpec([None, None, None, None]),
        tf.TensorSpec([None, None, None], tf.bool),
      ],
      autograph=False,
    )

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    """Searches `queries`, float32 [Q, D]; scores are log p(z|x)."""
    seeds = self._searcher.search(queries, NUM_PATH_SEEDS).block_ids
    blocks, vectors = self._paths(queries, seeds)
    exists = blocks >= 0
    scores = self._score(queries, vectors, exists).numpy()[exists]
    # The log of the summed probabilities of a row's paths to the same block.
    keys = _keys(np.nonzero(exists)[0], blocks[exists])
    keys, group = np.unique(keys, return_inverse=True)
    sums = np.full(len(keys), -np.inf, np.float32)
    np.logaddexp.at(sums, group, scores)
    rows, ids = np.divmod(keys, 1 << 32)
    return _best(rows, ids, sums, shape=(len(queries), k))


def _gather(
  values: np.ndarray, starts: np.ndarray, stops: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the slices values[start:stop] end to end, and their lengths."""
  lengths = stops - starts
  ends = np.cumsum(lengths)
  places = np.arange(ends[-1] if len(ends) else 0)
  places += np.repeat(starts - (ends - lengths), lengths)
  return values[places], lengths


def _score(queries: np.ndarray, embeddings: _Embeddings) -> Score:
  """Returns a function that returns inner products."""

  def score(rows: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
    vectors = _read_vectors(embeddings, block_ids)
    return np.einsum('nd,nd->n', queries[rows], vectors)

  return score


def _read_vectors(embeddings: _Embeddings, block_ids: np.ndarray) -> np.ndarray:
  """Returns float32 embeddings of blocks, [..., D]; reads each block once."""
  unique, places = np.unique(block_ids, return_inverse=True)
  vectors = np.asarray(embeddings[unique], np.float32)
  return vectors[places.reshape(block_ids.shape)]


def _keys(rows: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
  """Returns a number for each pair of a row and a block, int64 [n]."""
  return (rows.astype(np.int64) << 32) + block_ids


def _best(
  rows: np.ndarray,
  blocks: np.ndarray,
  scores: np.ndarray,
  *,
  shape: tuple[int, int],
) -> interfaces.Neighbors:
  """Returns the best blocks of each row, without repeats.

  Args:
    rows: Query of each of n hits, in any order.
    shape: Shape of the result, [Q, k].
  """
  kept = _first_of_each(rows, blocks, scores)
  kept = kept[np.lexsort((-scores[kept], rows[kept]))]
  rows, blocks, scores = rows[kept], blocks[kept], scores[kept]
  ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
  is_best = ranks < shape[1]
  found = searcher_lib.nothing(*shape)
  found.block_ids[rows[is_best], ranks[is_best]] = blocks[is_best]
  found.scores[rows[is_best], ranks[is_best]] = scores[is_best]
  return found


def _first_of_each(
  rows: np.ndarray, values: np.ndarray, scores: np.ndarray
) -> np.ndarray:
  """Returns the index of the best score of each (row, value), sorted."""
  order = np.argsort(-scores, kind='stable')
  keys = _keys(rows[order], values[order])
  return order[np.unique(keys, return_index=True)[1]]
