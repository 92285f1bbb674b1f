"""Rows of different lengths, as one flat array."""

from collections.abc import Sequence
import itertools
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
  """N rows end to end: texts as UTF-8, uint8, or ids, int32."""

  values: np.ndarray
  lengths: np.ndarray

  @classmethod
  def of_texts(cls, texts: Sequence[str]) -> 'Rows':
    encoded = [text.encode('utf-8', 'replace') for text in texts]
    return cls(np.frombuffer(b''.join(encoded), np.uint8), _lengths(encoded))

  @classmethod
  def of_ids(cls, arrays: Sequence[np.ndarray]) -> 'Rows':
    values = np.concatenate([np.zeros(0, np.int32), *arrays])
    return cls(values.astype(np.int32), _lengths(arrays))

  def select(self, is_kept: np.ndarray) -> 'Rows':
    """Returns the rows where `is_kept`, bool [N]."""
    return Rows(
      self.values[np.repeat(is_kept, self.lengths)], self.lengths[is_kept]
    )

  def arrays(self) -> list[np.ndarray]:
    ends = itertools.accumulate(self.lengths.tolist(), initial=0)
    return [self.values[a:b] for a, b in itertools.pairwise(ends)]

  def texts(self) -> list[str]:
    return [row.tobytes().decode('utf-8', 'replace') for row in self.arrays()]


def _lengths(rows: Sequence) -> np.ndarray:
  return np.array([len(row) for row in rows], np.int32)
