"""Searches an index together with changed blocks, which it searches exactly."""

from collections.abc import Iterable

import numpy as np

from realm_tf.index import exact_search
from realm_tf.index import searcher as searcher_lib


class LiveSearch:
  """A searcher over an index of `num_blocks` blocks and over changed blocks.

  The index still has the old embeddings of changed and removed blocks, so hits
  on them are hidden.
  """

  def __init__(self, index: searcher_lib.Searcher, num_blocks: int):
    self._index = index
    self._is_hidden = np.zeros([num_blocks], bool)
    self._rows: dict[int, int] = {}  # Block id -> row in the two arrays.
    self._ids = np.zeros([0], np.int64)
    self._embeddings = np.zeros([0, 0], np.float32)

  def put(self, ids: np.ndarray, embeddings: np.ndarray) -> None:
    """Adds blocks, or replaces their embeddings, [n, D]."""
    self._reserve(len(self._rows) + len(ids), embeddings.shape[1])
    for block_id, embedding in zip(map(int, ids), embeddings):
      row = self._rows.setdefault(block_id, len(self._rows))
      self._ids[row], self._embeddings[row] = block_id, embedding
    self._hide(ids, True)

  def remove(self, ids: Iterable[int]) -> None:
    ids = np.fromiter(ids, np.int64)
    self._forget(ids)
    self._hide(ids, True)

  def restore(self, ids: np.ndarray) -> None:
    """Returns blocks of the index to their embeddings in the index."""
    self._forget(ids)
    self._hide(ids, False)

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Returns the best `k` of all blocks, [B, k]."""
    ids, scores = self._search_index(queries, k)
    if self._rows:
      changed = exact_search.BruteForceSearcher(
        self._embeddings[: len(self._rows)]
      ).search(queries, k)
      ids = np.concatenate([ids, self._ids[changed.block_ids]], axis=1)
      scores = np.concatenate([scores, changed.scores], axis=1)
    order = np.lexsort([ids, -scores], axis=1)[:, :k]
    best = searcher_lib.mark_missing(
      np.take_along_axis(ids, order, axis=1),
      np.take_along_axis(scores, order, axis=1),
    )
    return searcher_lib.fill(best, k)

  def _search_index(
    self, queries: np.ndarray, k: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Doubles the search until each query has `k` hits that are not hidden."""
    number, num_blocks = k, len(self._is_hidden)
    while True:
      ids, scores = searcher_lib.fill(
        self._index.search(queries, number), number
      )
      is_left = (ids >= 0) & ~self._is_hidden[np.maximum(ids, 0)]
      is_enough = (is_left.sum(axis=1) >= k) | (ids < 0).any(axis=1)
      if is_enough.all() or number >= num_blocks:
        return ids, np.where(is_left, scores, -np.inf)
      number = min(2 * number, num_blocks)

  def _reserve(self, number: int, width: int) -> None:
    if number > len(self._ids):
      size = max(number, 2 * len(self._ids))
      embeddings = np.zeros([size, width], np.float32)
      if self._ids.size:
        embeddings[: len(self._ids)] = self._embeddings
      self._ids, self._embeddings = np.resize(self._ids, size), embeddings

  def _forget(self, ids: np.ndarray) -> None:
    for block_id in map(int, ids):
      row = self._rows.pop(block_id, None)
      last = len(self._rows)
      if row is not None and row != last:  # The last row fills the gap.
        self._ids[row] = self._ids[last]
        self._embeddings[row] = self._embeddings[last]
        self._rows[int(self._ids[row])] = row

  def _hide(self, ids: np.ndarray, is_hidden: bool) -> None:
    self._is_hidden[ids[ids < len(self._is_hidden)]] = is_hidden
