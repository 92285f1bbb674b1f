"""Rescores approximate hits with embeddings that stay on disk.

Codes have 4 bits for 2 dimensions: the paper's 13 million blocks of 128
dimensions take about 1 GB of memory instead of 8. The operating system caches
rows that are read often.
"""

from typing import Union

import numpy as np

from realm_tf.index import embedding_shards
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import null_block

_QUERIES = 32  # Rescored at once: 8 MB of rows at 480 hits of 128 dimensions.


class DiskRescorer(searcher_lib.ApproximateSearcher):
  """Searches codes in memory and takes the exact scores from disk."""

  def __init__(
    self,
    codes: searcher_lib.ApproximateSearcher,
    embeddings: Union[np.ndarray, embedding_shards.Embeddings],
  ):
    self._codes, self._embeddings = codes, embeddings
    self.num_leaves, self.effort = codes.num_leaves, codes.effort

  def with_effort(self, effort: searcher_lib.Effort) -> 'DiskRescorer':
    return DiskRescorer(self._codes.with_effort(effort), self._embeddings)

  def save(self, directory: str) -> None:
    self._codes.save(directory)

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    queries = np.asarray(queries, np.float32)
    hits = self._codes.search(queries, max(k, self.effort.num_to_rescore))
    parts = [
      self._rescore(queries[i : i + _QUERIES], hits.block_ids[i : i + _QUERIES])
      for i in range(0, len(queries), _QUERIES)
    ]
    ids, scores = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
    return searcher_lib.mark_missing(
      np.take_along_axis(ids, order, axis=1),
      np.take_along_axis(scores, order, axis=1),
    )

  def _rescore(
    self, queries: np.ndarray, ids: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids in ascending order, and their exact scores."""
    ids = np.sort(ids, axis=1)  # Equal scores are ordered by id.
    # Each row is read once, in its order on disk.
    wanted, places = np.unique(np.maximum(ids, 0), return_inverse=True)
    embedding_shards.prefetch(self._embeddings, wanted)
    rows = self._embeddings[wanted]
    scores = np.einsum('qd,qhd->qh', queries, rows[places.reshape(ids.shape)])
    return ids, np.where(ids == null_block.ID, -np.inf, scores)
