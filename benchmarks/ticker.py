"""Measures the longest pause of a thread, by Python's lock or missing cores."""

import threading
import time

_TICK_SECS = 0.001


class Ticker:
  """A thread that wakes every millisecond until the process ends."""

  def __init__(self):
    self._longest = 0.0
    threading.Thread(target=self._work, daemon=True).start()

  def take_longest(self) -> float:
    """Returns the longest gap since the last call, seconds."""
    longest, self._longest = self._longest, 0.0
    return longest

  def _work(self):
    last = time.perf_counter()
    while True:
      time.sleep(_TICK_SECS)
      now = time.perf_counter()
      self._longest = max(self._longest, now - last)
      last = now
