"""What a nearest-neighbour index offers, whatever its implementation."""

from typing import NamedTuple, Protocol

import numpy as np

NOT_FOUND = -1  # In place of a block id; its score is -inf.


class Neighbors(NamedTuple):
  """The K blocks with the largest inner product, best first.

  Attributes:
    block_ids: int32 [Q, K]; row numbers of the indexed embeddings.
    scores: float32 [Q, K]; approximate in some implementations, so training
      recomputes f(x,z) from the block's text.
  """

  block_ids: np.ndarray
  scores: np.ndarray


class Searcher(Protocol):
  """Finds the blocks with the largest inner product with a query."""

  def search(self, queries: np.ndarray, k: int) -> Neighbors:
    """Searches float32 `queries`, [Q, D], for the top `k` blocks of each.

    Where a searcher finds fewer than `k`, it either returns fewer columns or
    fills the end of a row with `NOT_FOUND`.
    """


def fill(neighbors: Neighbors, k: int) -> Neighbors:
  """Returns `neighbors` with `k` columns; `NOT_FOUND` where there are fewer."""
  missing = k - neighbors.block_ids.shape[1]
  if missing <= 0:
    return neighbors
  behind = [[0, 0], [0, missing]]
  return Neighbors(
    np.pad(neighbors.block_ids, behind, constant_values=NOT_FOUND),
    np.pad(neighbors.scores, behind, constant_values=-np.inf),
  )
