"""Interface of all nearest-neighbour searchers, and their results."""

from collections.abc import Mapping
import copy
from typing import NamedTuple, Protocol

import numpy as np

from realm_tf.records import null_block


class Neighbors(NamedTuple):
  """The K blocks with the largest inner product, best first.

  Attributes:
    block_ids: int32 [Q, K]; row numbers of the indexed embeddings.
    scores: float32 [Q, K]; approximate in some implementations, so training
      recomputes f(x,z) from the block's text.
  """

  block_ids: np.ndarray
  scores: np.ndarray


class Effort(NamedTuple):
  """Effort that an approximate searcher spends on a query.

  Attributes:
    leaves_to_search: Partitions visited.
    num_to_rescore: Approximate hits that are rescored exactly.
  """

  leaves_to_search: int
  num_to_rescore: int


class Searcher(Protocol):
  """Finds the blocks with the largest inner product with a query."""

  def search(self, queries: np.ndarray, k: int) -> Neighbors:
    """Searches float32 `queries`, [Q, D], for the top `k` blocks of each.

    Where a searcher finds fewer than `k`, it either returns fewer columns or
    fills the end of a row with -1.
    """


class ApproximateSearcher(Searcher, Protocol):
  """A searcher over partitions, whose effort can be changed once built."""

  num_leaves: int
  effort: Effort  # Of `search`.

  def with_effort(self, effort: Effort) -> 'ApproximateSearcher':
    """Returns a searcher over the same memory that spends `effort`."""
    changed = copy.copy(self)
    changed.effort = effort
    return changed

  def save(self, directory: str) -> None:
    """Writes the searcher into an existing, local directory."""


class TunedSearcher:
  """Searches with the effort of the smallest tuned k that is large enough.

  The best block is found in few partitions, the best thousand only in many.
  """

  def __init__(
    self, searcher: ApproximateSearcher, efforts: Mapping[int, Effort]
  ):
    self.efforts = dict(sorted(efforts.items()))
    # Kept: one of faiss holds what it made for an effort.
    self._searchers = {
      k: searcher.with_effort(effort) for k, effort in self.efforts.items()
    }

  def at(self, k: int) -> ApproximateSearcher:
    """Returns the searcher, with the effort that `k` blocks need."""
    largest = max(self._searchers)
    return self._searchers[
      min((tuned for tuned in self._searchers if tuned >= k), default=largest)
    ]

  def search(self, queries: np.ndarray, k: int) -> Neighbors:
    """Returns the top `k` of each query."""
    return self.at(k).search(queries, k)

  def save(self, directory: str) -> None:
    """Writes the searcher into an existing, local directory."""
    self.at(1).save(directory)


def nothing(num_queries: int, k: int) -> Neighbors:
  """Returns no block for each query, [Q, k]."""
  shape = num_queries, k
  return Neighbors(
    np.full(shape, null_block.ID, np.int32), np.full(shape, -np.inf, np.float32)
  )


def fill(neighbors: Neighbors, k: int) -> Neighbors:
  """Returns `neighbors` with `k` columns; -1 where there are fewer."""
  missing = k - neighbors.block_ids.shape[1]
  if missing <= 0:
    return neighbors
  behind = [[0, 0], [0, missing]]
  return Neighbors(
    np.pad(neighbors.block_ids, behind, constant_values=null_block.ID),
    np.pad(neighbors.scores, behind, constant_values=-np.inf),
  )


def mark_missing(block_ids: np.ndarray, scores: np.ndarray) -> Neighbors:
  """Returns neighbours, [Q, K], with -1 where a score is no number."""
  found = np.isfinite(scores)
  return Neighbors(
    np.where(found, block_ids, null_block.ID).astype(np.int32),
    np.where(found, scores, -np.inf).astype(np.float32),
  )
