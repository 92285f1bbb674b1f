"""Searches with the effort that the number of blocks asked for needs.

  {k: effort} + approximate searcher -> [this file] -> search(queries, k)

The best block is found in few partitions, the best thousand only in many.
"""

from collections.abc import Mapping

import numpy as np

from realm_tf.index import searcher as searcher_lib


class TunedSearcher:
  """Searches with the effort of the smallest tuned k that is large enough."""

  def __init__(
    self,
    searcher: searcher_lib.ApproximateSearcher,
    efforts: Mapping[int, searcher_lib.Effort],
  ):
    self.efforts = dict(sorted(efforts.items()))
    # Kept: one of faiss holds what it made for an effort.
    self._searchers = {
      k: searcher.with_effort(effort) for k, effort in self.efforts.items()
    }

  @property
  def num_leaves(self) -> int:
    """Number of partitions."""
    return self.at(1).num_leaves

  def at(self, k: int) -> searcher_lib.ApproximateSearcher:
    """Returns the searcher, with the effort that `k` blocks need."""
    largest = max(self._searchers)
    return self._searchers[
      min((tuned for tuned in self._searchers if tuned >= k), default=largest)
    ]

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Returns the top `k` of each query; see `searcher.Searcher`."""
    return self.at(k).search(queries, k)

  def save(self, directory: str) -> None:
    """Writes the searcher into an existing, local directory."""
    self.at(1).save(directory)
