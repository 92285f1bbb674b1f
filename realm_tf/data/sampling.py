"""Rows of each step's batch, and the share of each process.

The rows of step t follow from the seed and t alone, so a resumed run neither
skips nor repeats an example.
"""

from collections.abc import Mapping, Sequence
import functools
from typing import NamedTuple

import numpy as np


class Sampler:
  """Deals rows 0 to num_rows - 1, shuffled in each epoch, without a gap."""

  def __init__(self, num_rows: int, batch_size: int, seed: int):
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
  """Sorts rows by length within `num_batches` batches, which saves padding.

  The sorted batches are dealt in random order. `lengths` are int [num_rows].
  """

  def __init__(
    self, sampler: Sampler, lengths: np.ndarray, num_batches: int, seed: int
  ):
    self._sampler, self._lengths = sampler, lengths
    self._num_batches, self._seed = num_batches, seed

  def rows(self, step: int) -> np.ndarray:
    group, place = divmod(step, self._num_batches)
    steps = range(group * self._num_batches, (group + 1) * self._num_batches)
    rows = np.concatenate([self._sampler.rows(each) for each in steps])
    by_length = rows[np.argsort(self._lengths[rows], kind='stable')]
    order = step_rng(self._seed, group).permutation(self._num_batches)
    return np.split(by_length, self._num_batches)[order[place]]


class Share(NamedTuple):
  """One process's share of each batch; all shares are equal.

  Random numbers are drawn for the whole batch, so a batch does not depend on
  how many processes share it.

  Attributes:
    number: Number of this process, from 0, among `count`.
    has_fixed_shapes: Whether batches stay untrimmed, so that the step compiles
      once.
  """

  number: int = 0
  count: int = 1
  first_step: int = 0
  has_fixed_shapes: bool = False

  def rows(self, size: int) -> slice:
    """Returns this process's rows; `size` must be a multiple of `count`."""
    part = size // self.count
    return slice(self.number * part, (self.number + 1) * part)

  def take(self, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns this process's rows of each array [B, ...]."""
    return {name: each[self.rows(len(each))] for name, each in batch.items()}

  def trim(self, ids: np.ndarray, multiple: int) -> np.ndarray:
    return ids if self.has_fixed_shapes else trim(ids, multiple)


WHOLE = Share()


def step_rng(seed: int, step: int, *use: int) -> np.random.Generator:
  """Returns a generator that is independent of other steps and uses."""
  return np.random.default_rng([seed, step, *use])


def pad_rows(
  rows: Sequence[np.ndarray], length: int, filler: int = 0
) -> np.ndarray:
  """Returns the rows as int32 [N, length], cut or filled."""
  padded = np.full([len(rows), length], filler, np.int32)
  for i, row in enumerate(rows):
    padded[i, : len(row)] = row[:length]
  return padded


def end_rows(
  rows: Sequence[np.ndarray], length: int, end_id: int
) -> np.ndarray:
  """Returns the rows, cut to fit, with `end_id`; int32 [N, length]."""
  ended = [np.append(row[: length - 1], end_id) for row in rows]
  return pad_rows(ended, length)


def trim(ids: np.ndarray, multiple: int) -> np.ndarray:
  """Cuts zero columns off the end of zero-padded `ids`, int [..., L].

  The new width is 1 or more and, unless it is L, a multiple of `multiple`:
  fewer widths mean fewer traces of the compiled step.
  """
  used = np.flatnonzero(ids.reshape([-1, ids.shape[-1]]).any(axis=0))
  width = int(used[-1]) + 1 if len(used) else 1
  return ids[..., : -(-width // multiple) * multiple]
