"""Lays fresh embeddings of blocks that were just read over a stale index.

  step: ids, embeddings -> write ---+
                                    +--> search: best of both
  stale index, its queries ---------+

Between two refreshes the index keeps the embeddings of old parameters, while
the step embeds every candidate anew. The overlay keeps these, so that blocks
found often are never stale. Pure NumPy, and exact.

Query and block of a score have the same parameters: a block of the overlay is
scored by its fresh embedding and the query's fresh one, any other by those of
the index. A fresh embedding is that of the last step that read the block, with
dropout.
"""

from collections.abc import Callable
import threading
from typing import Any

import numpy as np

from realm_tf.index import brute_force
from realm_tf.index import searcher as searcher_lib

# How many times k the stale index is asked for, at first and at most: some of
# its hits are known better by the overlay.
FIRST_ASKED_FOR, _MOST_ASKED_FOR = 2, 16


class Overlay:
  """Holds the embeddings of at most `capacity` blocks; the oldest make room.

  `write` may be called in one thread while another searches. The next search
  files the arrays, so that the step never waits.
  """

  def __init__(self, capacity: int):
    self._capacity = capacity
    self._lock = threading.Lock()
    self._inbox: list[tuple[Any, Any, int]] = []
    self._ids = np.zeros([0], np.int64)  # The latest first.
    self._steps = np.zeros([0], np.int64)
    self._embeddings = np.zeros([0, 0], np.float32)

  def __len__(self) -> int:
    """Returns how many blocks the last search or `drop_older` knew."""
    return len(self._ids)

  def write(self, block_ids: Any, embeddings: Any, step: int) -> None:
    """Adds blocks, or replaces what is known of them.

    Args:
      block_ids: int [...], an array or tensor; null blocks, which are negative,
        are left out.
      embeddings: float [..., D], an array or tensor.
      step: Training step of the parameters, ascending from call to call.
    """
    with self._lock:
      self._inbox.append((block_ids, embeddings, step))

  def drop_older(self, step: int) -> None:
    """Forgets embeddings from before `step`, when an index of `step` is loaded.

    Called by the thread that searches.
    """
    self._file()
    self._keep(self._steps >= step)

  def search(
    self,
    stale: Callable[[int], searcher_lib.Neighbors],
    fresh_queries: Callable[[], np.ndarray],
    k: int,
  ) -> searcher_lib.Neighbors:
    """Returns the best `k` of the overlay and of the other blocks of an index.

    They are the true best if the index is searched exactly, unless the overlay
    knows more than 15 k of a query's best 16 k in the index, all worse by now.

    Args:
      stale: Returns the best n blocks of the index, by its own embeddings.
      fresh_queries: Returns the queries' fresh embeddings, float32 [B, D].
      k: Blocks of each query.

    Returns:
      int32 and float32 [B, k], best first.
    """
    self._file()
    if not len(self):
      return searcher_lib.fill(stale(k), k)
    found = brute_force.BruteForceSearcher(self._embeddings).search(
      fresh_queries(), k
    )
    found = searcher_lib.Neighbors(self._ids[found.block_ids], found.scores)
    asked_for = FIRST_ASKED_FOR * k
    while True:
      hits = searcher_lib.fill(stale(asked_for), asked_for)
      merged = _merge(found, self._without_own(hits), k)
      # An unseen block scores no more than the last seen one.
      is_certain = merged.scores[:, -1] >= hits.scores[:, -1]
      if is_certain.all() or asked_for >= _MOST_ASKED_FOR * k:
        return merged
      asked_for *= 2

  def _without_own(self, hits):
    own = np.isin(hits.block_ids, self._ids)
    return searcher_lib.Neighbors(
      np.where(own, searcher_lib.NOT_FOUND, hits.block_ids),
      np.where(own, -np.inf, hits.scores),
    )

  def _file(self):
    """Takes over what was written since the last call."""
    with self._lock:
      inbox, self._inbox = self._inbox, []
    ids, steps, embeddings = [], [], []
    for block_ids, values, step in reversed(inbox):  # The latest first.
      values = np.asarray(values, np.float32)
      values = values.reshape([-1, values.shape[-1]])
      block_ids = np.asarray(block_ids, np.int64).reshape([-1])
      real = block_ids >= 0
      ids.append(block_ids[real])
      steps.append(np.full([real.sum()], step, np.int64))
      embeddings.append(values[real])
    if not ids:
      return
    if self._ids.size:
      ids.append(self._ids)
      steps.append(self._steps)
      embeddings.append(self._embeddings)
    self._ids, self._steps, self._embeddings = map(
      np.concatenate, (ids, steps, embeddings)
    )
    _, first = np.unique(self._ids, return_index=True)
    self._keep(np.sort(first)[: self._capacity])

  def _keep(self, rows):
    self._ids = self._ids[rows]
    self._steps = self._steps[rows]
    self._embeddings = self._embeddings[rows]


def _merge(first, second, k):
  """Returns the best `k` of both; of equal scores the smaller id."""
  ids = np.concatenate([first.block_ids, second.block_ids], axis=1)
  scores = np.concatenate([first.scores, second.scores], axis=1)
  order = np.lexsort([ids, -scores], axis=1)[:, :k]
  return searcher_lib.Neighbors(
    np.take_along_axis(ids, order, axis=1).astype(np.int32),
    np.take_along_axis(scores, order, axis=1).astype(np.float32),
  )
