"""Exact search by one matrix product: the oracle for the other searchers."""

import numpy as np

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
      chunk_ids, chunk_scores = _top(queries @ chunk.T, k)
      ids.append(chunk_ids + start)
      scores.append(chunk_scores)
    ids, scores = np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)
    order, scores = _top(scores, k)
    return searcher.Neighbors(
      np.take_along_axis(ids, order, axis=1).astype(np.int32), scores
    )


def _top(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns columns and values of each row's `k` largest, best first."""
  k = min(k, scores.shape[1])
  if k < scores.shape[1]:
    columns = np.sort(_partition(scores, k), axis=1)
  else:
    columns = np.broadcast_to(np.arange(k), scores.shape)
  values = np.take_along_axis(scores, columns, axis=1)
  order = np.argsort(-values, axis=1, kind='stable')
  return (
    np.take_along_axis(columns, order, axis=1),
    np.take_along_axis(values, order, axis=1).astype(np.float32),
  )


def _partition(scores: np.ndarray, k: int) -> np.ndarray:
  """Returns the columns of each row's `k` largest, unordered."""
  columns = np.argpartition(-scores, k - 1, axis=1)[:, :k]
  last = np.take_along_axis(scores, columns, axis=1).min(axis=1)
  # argpartition breaks ties for the last place arbitrarily.
  is_candidate = scores >= last[:, None]
  for row in np.flatnonzero(np.count_nonzero(is_candidate, axis=1) > k):
    tied = np.flatnonzero(is_candidate[row])
    best = np.argsort(-scores[row, tied], kind='stable')[:k]
    columns[row] = tied[best]
  return columns
