"""Exact search by one matrix product: the oracle for the other searchers."""

import numpy as np

from realm_tf.index import largest
from realm_tf.index import searcher

_CHUNK_BLOCKS = 1 << 18
_CHUNK_SCORES = 1 << 23  # 32 MB; partitioning takes a multiple of that.


class BruteForceSearcher:
  """Scores all blocks of float [N, D], which may be memory-mapped.

  Equal scores are ordered by block id.
  """

  def __init__(self, embeddings: np.ndarray):
    self._embeddings = embeddings

  def search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    ids, scores = [], []
    step = min(_CHUNK_BLOCKS, max(1, _CHUNK_SCORES // max(1, len(queries))))
    for start in range(0, len(self._embeddings), step):
      chunk = np.asarray(self._embeddings[start : start + step], np.float32)
      chunk_ids, chunk_scores = largest.of_rows(queries @ chunk.T, k)
      ids.append(chunk_ids + start)
      scores.append(chunk_scores)
    ids, scores = np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)
    order, scores = largest.of_rows(scores, k)
    return searcher.Neighbors(
      np.take_along_axis(ids, order, axis=1).astype(np.int32), scores
    )
