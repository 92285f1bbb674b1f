"""Which batches a process makes, and which part: batch of all -> rows of one.

What is random is drawn for the whole batch and then parted, so a batch is the
same however many processes share it.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from realm_tf.records import sampling


class Share(NamedTuple):
  """One process's equal part.

  Attributes:
    number: Of the process, from 0.
    count: Processes.
    first_step: Whose batch is made first.
    has_fixed_shapes: Whether every batch has the same, full shapes, as a
      compiler wants that takes minutes for each.
  """

  number: int = 0
  count: int = 1
  first_step: int = 0
  has_fixed_shapes: bool = False

  def rows(self, size: int) -> slice:
    """Returns which are this process's, of `size`, a multiple of `count`."""
    part = size // self.count
    return slice(self.number * part, (self.number + 1) * part)

  def take(self, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns this process's rows of each array, [B, ...]."""
    return {name: each[self.rows(len(each))] for name, each in batch.items()}

  def trim(self, ids: np.ndarray, multiple: int) -> np.ndarray:
    """See `sampling.trim`; leaves arrays whole where shapes are fixed."""
    return ids if self.has_fixed_shapes else sampling.trim(ids, multiple)


WHOLE = Share()
