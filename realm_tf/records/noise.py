"""Random changes of a batch's wordpieces: replaced, or left out.

Noise is drawn for the whole batch, of which `rows` are those of this process,
so that it does not depend on the number of processes.
"""

from typing import Optional

import numpy as np


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
    ids: int32 [B, L], zero-padded.
    rate: Share of the wordpieces to replace.
    ordinary_ids: Ids to replace them by, int32 [V']. Ids below the first
      ([PAD], [MASK], ...) are never replaced.
    rows: Rows of the whole batch that `ids` are.
    num_rows: Rows of the whole batch; B by default.

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
  """Leaves out wordpieces, but one at least stays; the others move up.

  Args:
    ids: int32 [B, L], zero-padded.
    rate: Share of the wordpieces to leave out.
    first_ordinary: Lowest id that may be left out; [MASK] and the like stay.
    rows: Rows of the whole batch that `ids` are.
    num_rows: Rows of the whole batch; B by default.

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


def _move_up(ids):
  """Returns the rows with all zeros behind, int32 [B, L]."""
  order = np.argsort(ids == 0, axis=1, kind='stable')
  return np.take_along_axis(ids, order, axis=1).astype(np.int32)
