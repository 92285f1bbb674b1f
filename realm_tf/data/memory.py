"""Keeps the results of a function, by key."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

_OVERHEAD = 500  # Bytes of a key, and of its value's objects.


class Memory:
  """Remembers values of keys, and forgets all above a number of bytes.

  Values that are all there are never forgotten. A value is a tuple of arrays
  and numbers.
  """

  def __init__(self, most_bytes: int):
    self._most_bytes, self._num_bytes = most_bytes, 0
    self._values: dict[Hashable, tuple[Any, ...]] = {}

  def values(
    self,
    keys: Sequence[Hashable],
    make: Callable[[list[int]], Iterable[tuple[Any, ...]]],
  ) -> list[tuple[Any, ...]]:
    """Returns the values of keys.

    Args:
      make: Returns the values of new keys, given their positions in `keys`.
    """
    rows: dict[Hashable, int] = {}
    for row, key in enumerate(keys):
      rows.setdefault(key, row)
    new = {key: i for key, i in rows.items() if key not in self._values}
    if new and self._num_bytes > self._most_bytes:
      self._values.clear()
      self._num_bytes, new = 0, rows
    if new:
      for key, value in zip(new, make([*new.values()]), strict=True):
        self._values[key] = value
        self._num_bytes += sum(np.asarray(each).nbytes for each in value)
        self._num_bytes += _OVERHEAD
    return [self._values[key] for key in keys]
