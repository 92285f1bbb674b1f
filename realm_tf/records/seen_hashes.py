"""Which of many 64-bit hashes have been met: 8 bytes each, no Python per hash.

Sorted runs, merged when they are of like size: each hash is sorted a
logarithmic number of times.
"""

import numpy as np


class SeenHashes:
  """A set of uint64 that only grows."""

  def __init__(self):
    self._runs: list[np.ndarray] = []  # Sorted, longest first.

  def __len__(self) -> int:
    return sum(map(len, self._runs))

  def add(self, hashes: np.ndarray) -> np.ndarray:
    """Adds `hashes` and says which are new.

    Args:
      hashes: uint64 [N].

    Returns:
      bool [N]; of equal ones the first is new.
    """
    values, first = np.unique(hashes, return_index=True)
    is_known = np.zeros(len(values), bool)
    for run in self._runs:
      found = np.searchsorted(run, values)
      is_known |= run[np.minimum(found, len(run) - 1)] == values
    is_new = np.zeros(len(hashes), bool)
    is_new[first[~is_known]] = True
    self._append(values[~is_known])
    return is_new

  def _append(self, run: np.ndarray) -> None:
    if not len(run):
      return
    while self._runs and len(self._runs[-1]) < 2 * len(run):
      run = np.union1d(self._runs.pop(), run)
    self._runs.append(run)
