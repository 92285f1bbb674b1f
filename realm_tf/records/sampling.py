"""Rows that make up the batch of a step, and the part that a process makes.

The rows of step t follow from the seed and t alone, so a resumed run gets the
batches that it would have got; no example is skipped or repeated.
"""

from collections.abc import Mapping, Sequence
import functools
from typing import NamedTuple

import numpy as np


class Sampler:
  """Deals rows 0 to num_rows - 1, shuffled, epoch after epoch without a gap."""

  def __init__(self, num_rows: int, batch_size: int, seed: int):
    if num_rows < 1:
      raise ValueError(f'`num_rows` must be positive. Found {num_rows}.')
    self._num_rows = num_rows
    self._batch_size = batch_size
    self._permutation = functools.lru_cache(2)(
      lambda epoch: step_rng(seed, epoch).permutation(num_rows)
    )

  def rows(self, step: int) -> np.ndarray:
    """Returns the rows of batch `step`, int64 [B]."""
    positions = step * self._batch_size + np.arange(self._batch_size)
    epochs = positions // self._num_rows
    return np.concatenate(
      [
        self._permutation(int(epoch))[
          positions[epochs == epoch] % self._num_rows
        ]
        for epoch in np.unique(epochs)
      ]
    )


class BucketSampler:
  """Deals the rows of several batches by length, which saves padding.

  Args:
    lengths: Length of each row, int [num_rows].
    num_batches: Number of batches that are sorted together; they are dealt in
      random order.
  """

  def __init__(
    self, sampler: Sampler, lengths: np.ndarray, num_batches: int, seed: int
  ):
    self._sampler, self._lengths = sampler, lengths
    self._num_batches, self._seed = num_batches, seed

  def rows(self, step: int) -> np.ndarray:
    """Returns the rows of batch `step`, int64 [B]."""
    group, place = divmod(step, self._num_batches)
    steps = range(group * self._num_batches, (group + 1) * self._num_batches)
    rows = np.concatenate([self._sampler.rows(each) for each in steps])
    by_length = rows[np.argsort(self._lengths[rows], kind='stable')]
    order = step_rng(self._seed, group).permutation(self._num_batches)
    return np.split(by_length, self._num_batches)[order[place]]


class Share(NamedTuple):
  """Equal part of each batch that one process makes.

  Random numbers are drawn for the whole batch, so a batch does not depend on
  how many processes share it.

  Attributes:
    number: Number of the process, from 0.
    count: Number of processes.
    first_step: Step of the first batch.
    has_fixed_shapes: Whether all batches have the same, full shapes, for a slow
      compiler.
  """

  number: int = 0
  count: int = 1
  first_step: int = 0
  has_fixed_shapes: bool = False

  def rows(self, size: int) -> slice:
    """Returns this process's rows of `size`, a multiple of `count`."""
    part = size // self.count
    return slice(self.number * part, (self.number + 1) * part)

  def take(self, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns this process's rows of each array, [B, ...]."""
    return {name: each[self.rows(len(each))] for name, each in batch.items()}

  def trim(self, ids: np.ndarray, multiple: int) -> np.ndarray:
    """Trims `ids` like `sampling.trim`, unless shapes are fixed."""
    return ids if self.has_fixed_shapes else trim(ids, multiple)


WHOLE = Share()


def step_rng(seed: int, step: int, *use: int) -> np.random.Generator:
  """Returns the random generator of one step, and of one `use` of it.

  Generators of other steps and uses are independent.
  """
  return np.random.default_rng([seed, step, *use])


def pad_rows(
  rows: Sequence[np.ndarray], length: int, filler: int = 0
) -> np.ndarray:
  """Returns rows of different lengths as int32 [N, length], cut or filled."""
  padded = np.full([len(rows), length], filler, np.int32)
  for i, row in enumerate(rows):
    padded[i, : len(row)] = row[:length]
  return padded


def end_rows(
  rows: Sequence[np.ndarray], length: int, end_id: int
) -> np.ndarray:
  """Returns rows with their end, cut to fit, zero-padded int32 [N, length]."""
  ended = [np.append(row[: length - 1], end_id) for row in rows]
  return pad_rows(ended, length)


def trim(ids: np.ndarray, multiple: int) -> np.ndarray:
  """Cuts columns that are zero in every row, down to a multiple of `multiple`.

  Fewer widths mean fewer traces of the compiled step.

  Args:
    ids: int [..., L], zero-padded.
    multiple: The new width is a multiple of it, but L at most.

  Returns:
    int [..., L'], L' >= 1.
  """
  used = np.flatnonzero(ids.reshape([-1, ids.shape[-1]]).any(axis=0))
  width = int(used[-1]) + 1 if len(used) else 1
  return ids[..., : -(-width // multiple) * multiple]
