"""Which rows make up the batch of a step: shuffled epochs, resumable at once.

The rows of step t follow from the seed and t alone, so a resumed run goes on
with exactly the batches it would have had; no example is skipped or repeated.
"""

from collections.abc import Sequence
import functools
from typing import Optional

import numpy as np


class Sampler:
  """Deals shuffled rows; epochs follow each other without a gap.

  Args:
    num_rows: Rows 0 to num_rows - 1 are dealt.
    batch_size: B.
    seed: Of the shuffling.
  """

  def __init__(self, num_rows: int, batch_size: int, seed: int):
    if num_rows < 1:
      raise ValueError(f'`num_rows` must be positive. Got {num_rows}.')
    self._num_rows = num_rows
    self._batch_size = batch_size
    self._permutation = functools.lru_cache(2)(
      functools.partial(_permutation, num_rows, seed)
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
  """Deals the rows of several batches by length: less of a batch is padding.

  Args:
    sampler: Deals them otherwise.
    lengths: Of all rows, int [num_rows].
    num_batches: That are dealt together, and come in any order.
    seed: Of that order.
  """

  def __init__(
    self, sampler: Sampler, lengths: np.ndarray, num_batches: int, seed: int
  ):
    self._sampler, self._lengths = sampler, lengths
    self._num_batches, self._seed = num_batches, seed

  def rows(self, step: int) -> np.ndarray:
    """Returns the rows of batch `step`, int64 [B]; see `Sampler.rows`."""
    group, place = divmod(step, self._num_batches)
    steps = range(group * self._num_batches, (group + 1) * self._num_batches)
    rows = np.concatenate([self._sampler.rows(each) for each in steps])
    by_length = rows[np.argsort(self._lengths[rows], kind='stable')]
    order = step_rng(self._seed, group).permutation(self._num_batches)
    return np.split(by_length, self._num_batches)[order[place]]


def step_rng(seed: int, step: int) -> np.random.Generator:
  """Returns the random numbers of one step, whatever came before."""
  return np.random.default_rng([seed, step])


def add_noise(
  ids: np.ndarray,
  rate: float,
  ordinary_ids: np.ndarray,
  rng: np.random.Generator,
  rows: slice = slice(None),
  num_rows: Optional[int] = None,
) -> np.ndarray:
  """Replaces wordpieces by random ordinary ones.

  Args:
    ids: int32 [B, L], zeros behind the wordpieces.
    rate: Share of the wordpieces that are replaced.
    ordinary_ids: What they are replaced by, int32 [V']. Ids below the first of
      them ([PAD], [MASK], ...) are never replaced.
    rng: Source of the noise.
    rows: Which rows of a larger batch `ids` are, whose noise they get.
    num_rows: Of that batch; by default these are all.

  Returns:
    int32 [B, L].
  """
  if not rate:
    return ids
  shape = [num_rows or len(ids), *ids.shape[1:]]
  chosen = (rng.random(shape)[rows] < rate) & (ids >= ordinary_ids[0])
  noise = rng.choice(ordinary_ids, size=shape)[rows]
  return np.where(chosen, noise, ids).astype(np.int32)


def drop_words(
  ids: np.ndarray,
  rate: float,
  first_ordinary: int,
  rng: np.random.Generator,
  rows: slice = slice(None),
  num_rows: Optional[int] = None,
) -> np.ndarray:
  """Leaves wordpieces out; the others move up, and one at least stays.

  Args:
    ids: int32 [B, L], zeros behind the wordpieces.
    rate: Share of the wordpieces that are left out.
    first_ordinary: Ids below it ([PAD], [MASK], ...) stay.
    rng: Source of the choice.
    rows: Which rows of a larger batch `ids` are, whose choice they get.
    num_rows: Of that batch; by default these are all.

  Returns:
    int32 [B, L].
  """
  if not rate:
    return ids
  draws = rng.random([num_rows or len(ids), *ids.shape[1:]])[rows]
  draws = np.where(ids >= first_ordinary, draws, -1.0)
  is_kept = (draws >= rate) | (draws == draws.max(axis=1, keepdims=True))
  is_kept |= ids < first_ordinary
  return _move_up(np.where(is_kept, ids, 0))


def drop_masks(
  ids: np.ndarray, rate: float, mask_id: int, rng: np.random.Generator
) -> np.ndarray:
  """Leaves the [MASK]s out of some rows; the other wordpieces move up.

  Args:
    ids: int32 [B, L], zeros behind the wordpieces.
    rate: Share of the rows that lose their [MASK]s.
    mask_id: Of [MASK].
    rng: Source of the choice.

  Returns:
    int32 [B, L].
  """
  if not rate:
    return ids
  dropped = (rng.random([len(ids), 1]) < rate) & (ids == mask_id)
  return _move_up(np.where(dropped, 0, ids))


def _move_up(ids):
  """Returns the rows with all zeros behind, int32 [B, L]."""
  order = np.argsort(ids == 0, axis=1, kind='stable')
  return np.take_along_axis(ids, order, axis=1).astype(np.int32)


def pad_rows(
  rows: Sequence[np.ndarray], length: int, filler: int = 0
) -> np.ndarray:
  """Returns rows of different lengths as int32 [N, length], cut or filled."""
  padded = np.full([len(rows), length], filler, np.int32)
  for i, row in enumerate(rows):
    padded[i, : len(row)] = row[:length]
  return padded


def trim(ids: np.ndarray, multiple: int) -> np.ndarray:
  """Cuts columns that are zero in every row, down to a multiple of `multiple`.

  Few different widths are few traces of the compiled step, and far less
  padding is computed.

  Args:
    ids: int [..., L], zeros behind the wordpieces.
    multiple: Of the result's width, unless L itself is smaller.

  Returns:
    int [..., L'], L' >= 1.
  """
  used = np.flatnonzero(ids.reshape([-1, ids.shape[-1]]).any(axis=0))
  width = int(used[-1]) + 1 if len(used) else 1
  return ids[..., : -(-width // multiple) * multiple]


def _permutation(num_rows, seed, epoch):
  return np.random.default_rng([seed, epoch]).permutation(num_rows)
