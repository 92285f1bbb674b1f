"""Finds repeated ids in little memory."""

import array
import bisect

import numpy as np

_NUM_RECENT = 1 << 20


class SeenIds:
  """A growing set of hashes of ids: 8 bytes each, except the newest 2^20.

  Two of 10^7 ids have the same hash with a probability of 3e-6.
  """

  def __init__(self):
    self._sorted = array.array('q')
    self._recent: set[int] = set()

  def add(self, name: str) -> bool:
    """Adds an id; returns whether it is new."""
    value = hash(name)
    place = bisect.bisect_left(self._sorted, value)
    is_old = place < len(self._sorted) and self._sorted[place] == value
    if is_old or value in self._recent:
      return False
    self._recent.add(value)
    if len(self._recent) == _NUM_RECENT:
      recent = np.fromiter(self._recent, np.int64, len(self._recent))
      merged = np.union1d(np.frombuffer(self._sorted, np.int64), recent)
      self._sorted = array.array('q', merged.tobytes())
      self._recent.clear()
    return True
