"""Interface of all nearest-neighbour searchers and of their results."""

from collections.abc import Mapping
import math
from typing import NamedTuple, Protocol

import numpy as np

from realm_tf import config as config_lib
from realm_tf import interfaces

MIN_BLOCKS = 16  # The fewest points to train a codebook of 4 bits on.
_UNTUNED_SHARE = 0.1  # Of the leaves.
_UNTUNED_RESCORED = 200


class Effort(NamedTuple):
  """Effort that an approximate searcher spends on a query."""

  leaves_to_search: int  # Partitions visited.
  num_to_rescore: int  # Approximate hits that are rescored exactly.


class ApproximateSearcher(Protocol):
  """A searcher over partitions."""

  num_leaves: int

  def search(
    self, queries: np.ndarray, k: int, effort: Effort
  ) -> interfaces.Neighbors:
    """Searches as an `interfaces.Searcher`, with an effort."""

  def save(self, directory: str) -> None:
    """Writes the searcher into an existing, local directory."""


class TunedSearcher:
  """Searches with the effort of the smallest tuned k that is large enough.

  The best block is found in few partitions, the best thousand in many.
  """

  def __init__(
    self, searcher: ApproximateSearcher, efforts: Mapping[int, Effort]
  ):
    self.searcher = searcher
    self.efforts = dict(sorted(efforts.items()))

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    enough = (tuned for tuned in self.efforts if tuned >= k)
    tuned = next(enough, max(self.efforts))
    return self.searcher.search(queries, k, self.efforts[tuned])

  def save(self, directory: str) -> None:
    self.searcher.save(directory)


def untuned(
  config: config_lib.IndexConfig, num_blocks: int
) -> tuple[int, Effort]:
  """Returns the number of leaves, and the effort for untuned searches."""
  leaves = min(config.num_leaves or round(math.sqrt(num_blocks)), num_blocks)
  return leaves, Effort(math.ceil(leaves * _UNTUNED_SHARE), _UNTUNED_RESCORED)


def nothing(num_queries: int, k: int) -> interfaces.Neighbors:
  """Returns [Q, k] without any block."""
  shape = num_queries, k
  return interfaces.Neighbors(
    np.full(shape, interfaces.NULL_BLOCK, np.int32),
    np.full(shape, -np.inf, np.float32),
  )


def fill(neighbors: interfaces.Neighbors, k: int) -> interfaces.Neighbors:
  """Returns `neighbors` with at least `k` columns, filled up with -1."""
  missing = k - neighbors.block_ids.shape[1]
  if missing <= 0:
    return neighbors
  padding = [[0, 0], [0, missing]]
  return interfaces.Neighbors(
    np.pad(neighbors.block_ids, padding, constant_values=interfaces.NULL_BLOCK),
    np.pad(neighbors.scores, padding, constant_values=-np.inf),
  )


def mark_missing(
  block_ids: np.ndarray, scores: np.ndarray
) -> interfaces.Neighbors:
  """Returns neighbours, [Q, K], with -1 where a score is not finite."""
  found = np.isfinite(scores)
  return interfaces.Neighbors(
    np.where(found, block_ids, interfaces.NULL_BLOCK).astype(np.int32),
    np.where(found, scores, -np.inf).astype(np.float32),
  )
