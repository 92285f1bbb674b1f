"""Retrieval along learned paths of links: PathRetriever.

  question -> seeds -> blocks behind their links -> p(path|x) -> p(z|x)

After Asai et al. 2020 (https://arxiv.org/abs/1911.10470). Deviations: seeds are
found by embeddings instead of TF-IDF; a path has at most two blocks; the
reader reads its last block; and all paths of the seeds are scored, so there is
no beam that could lose one.
"""

import numpy as np
import tensorflow as tf

from realm_tf.index import embedding_shards
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import path_scorer
from realm_tf.retrieval import linked_blocks

NUM_SEEDS = 16  # Blocks at which a path may begin.
NUM_BEHIND = 32  # Blocks behind a seed: those likest to the question.


class Paths:
  """Finds the paths that begin at given blocks.

  Args:
    embeddings: Embeddings of the N blocks, [N, D].
  """

  def __init__(
    self,
    linked: linked_blocks.LinkedBlocks,
    embeddings: embedding_shards.Embeddings | np.ndarray,
  ):
    self._linked = linked
    self._embeddings = embeddings

  def of(
    self, queries: np.ndarray, seeds: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the last block of each path, and the embeddings of these.

    Args:
      queries: float32 [Q, D].
      seeds: Blocks, int [Q, F]; negative where there is none.

    Returns:
      Blocks int32 [Q, F, 1 + M]: each seed, then those behind it; -1 where
      there are fewer. Their embeddings, float32 [Q, F, 1 + M, D].
    """
    num_seeds = seeds.shape[1]

    def score(rows, block_ids):
      own = queries[rows // num_seeds]
      return np.einsum('nd,nd->n', own, self._vectors(block_ids))

    behind = self._linked.behind(seeds.ravel(), score, NUM_BEHIND)
    blocks = np.concatenate(
      [seeds[..., None], behind.reshape(*seeds.shape, NUM_BEHIND)], axis=-1
    )
    return blocks, self._vectors(np.maximum(blocks, 0))

  def _vectors(self, block_ids):
    # Most blocks are behind several seeds; each is read once.
    unique, places = np.unique(block_ids, return_inverse=True)
    vectors = np.asarray(self._embeddings[unique], np.float32)
    return vectors[places.reshape(block_ids.shape)]


class PathSearcher:
  """Finds blocks by p(z|x) = sum of p(path|x) of its paths; a `Searcher`.

  Args:
    searcher: Finds seeds.
    scorer: Scores paths.
  """

  def __init__(
    self,
    paths: Paths,
    searcher: searcher_lib.Searcher,
    scorer: path_scorer.PathScorer,
  ):
    self._paths = paths
    self._searcher = searcher
    self._score = _compiled(scorer)

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Searches `queries`, float32 [Q, D]; scores are log p(z|x)."""
    seeds = self._searcher.search(queries, NUM_SEEDS).block_ids
    blocks, vectors = self._paths.of(queries, seeds)
    scores = self._score(queries, vectors, blocks >= 0).numpy()
    places = np.nonzero(blocks >= 0)
    rows, ids, sums = _add_up(places[0], blocks[places], scores[places])
    return linked_blocks.best(rows, ids, sums, (len(queries), k))


def _compiled(scorer):
  """Returns the scorer as one graph for all sizes."""

  @tf.function(
    input_signature=[
      tf.TensorSpec([None, None]),
      tf.TensorSpec([None, None, None, None]),
      tf.TensorSpec([None, None, None], tf.bool),
    ]
  )
  def score(queries, blocks, exists):
    return scorer(queries, blocks, exists)

  return score


def _add_up(rows, blocks, scores):
  """Joins paths that end at the same block of a row, with their sum's log."""
  order = np.lexsort((blocks, rows))
  rows, blocks, scores = rows[order], blocks[order], scores[order]
  is_first = np.ones(len(order), bool)
  is_first[1:] = (rows[1:] != rows[:-1]) | (blocks[1:] != blocks[:-1])
  sums = np.logaddexp.reduceat(scores, np.flatnonzero(is_first))
  return rows[is_first], blocks[is_first], sums
