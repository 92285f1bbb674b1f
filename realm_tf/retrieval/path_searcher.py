"""Retrieval along learned paths of links: PathRetriever.

After Asai et al. 2020 (https://arxiv.org/abs/1911.10470). Deviations: seeds are
found by embeddings instead of TF-IDF; a path has at most two blocks; the
reader reads its last block; all paths of the seeds are scored, without a beam.
"""

import numpy as np
import tensorflow as tf

from realm_tf.index import embedding_shards
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import path_scorer
from realm_tf.retrieval import linked_blocks

NUM_SEEDS = 16  # Blocks where a path may begin.
NUM_TARGETS = 32  # Linked blocks per seed: the nearest to the question.


class Paths:
  """Finds the paths that begin at given blocks; `embeddings` are [N, D]."""

  def __init__(
    self,
    linked: linked_blocks.LinkedBlocks,
    embeddings: embedding_shards.Embeddings | np.ndarray,
  ):
    self._linked, self._embeddings = linked, embeddings

  def of(
    self, queries: np.ndarray, seeds: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the last block of each path, and its embedding.

    Args:
      queries: float32 [Q, D].
      seeds: Blocks, int [Q, F]; negative for none.

    Returns:
      Blocks, int32 [Q, F, 1 + M]: each seed and the M best blocks that it links
      to; -1 where there are fewer. Embeddings, float32 [Q, F, 1 + M, D].
    """
    num_seeds = seeds.shape[1]

    def score(rows: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
      vectors = linked_blocks.read_vectors(self._embeddings, block_ids)
      return np.einsum('nd,nd->n', queries[rows // num_seeds], vectors)

    targets = self._linked.targets(seeds.ravel(), score, NUM_TARGETS)
    blocks = np.concatenate(
      [seeds[..., None], targets.reshape(*seeds.shape, NUM_TARGETS)], axis=-1
    )
    return blocks, linked_blocks.read_vectors(
      self._embeddings, np.maximum(blocks, 0)
    )


class PathSearcher:
  """Searches by p(z|x), the sum of p(path|x) over the paths to a block."""

  def __init__(
    self,
    paths: Paths,
    searcher: searcher_lib.Searcher,
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
    )

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Searches `queries`, float32 [Q, D]; scores are log p(z|x)."""
    seeds = self._searcher.search(queries, NUM_SEEDS).block_ids
    blocks, vectors = self._paths.of(queries, seeds)
    scores = self._score(queries, vectors, blocks >= 0).numpy()
    places = np.nonzero(blocks >= 0)
    rows, ids, sums = _add_up(places[0], blocks[places], scores[places])
    return linked_blocks.best(rows, ids, sums, shape=(len(queries), k))


def _add_up(
  rows: np.ndarray, blocks: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Merges a row's paths to the same block: log of the summed probabilities."""
  order = np.lexsort((blocks, rows))
  rows, blocks, scores = rows[order], blocks[order], scores[order]
  is_first = linked_blocks.first_of_run(rows, blocks)
  sums = np.logaddexp.reduceat(scores, np.flatnonzero(is_first))
  return rows[is_first], blocks[is_first], sums
