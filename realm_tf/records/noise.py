"""Replaces or drops random wordpieces of a batch.

Random numbers are drawn for all `size` rows of the batch, so they do not depend
on how many processes share it. `ids` are its rows `own`, int32 [b, L],
zero-padded. Ids below `ordinary_ids[0]`, such as [MASK], stay.
"""

import numpy as np


def add_noise(
  ids: np.ndarray,
  rate: float,
  ordinary_ids: np.ndarray,
  rng: np.random.Generator,
  *,
  own: slice,
  size: int,
) -> np.ndarray:
  """Replaces a share `rate` of the wordpieces by random ordinary ones."""
  if not rate:
    return ids
  shape = [size, *ids.shape[1:]]
  chosen = (rng.random(shape)[own] < rate) & (ids >= ordinary_ids[0])
  noise = rng.choice(ordinary_ids, size=shape)[own]
  return np.where(chosen, noise, ids).astype(np.int32)


def drop_words(
  ids: np.ndarray,
  rate: float,
  ordinary_ids: np.ndarray,
  rng: np.random.Generator,
  *,
  own: slice,
  size: int,
) -> np.ndarray:
  """Drops a share `rate` of the wordpieces, keeps at least one, closes gaps."""
  if not rate:
    return ids
  draws = rng.random([size, *ids.shape[1:]])[own]
  is_ordinary = ids >= ordinary_ids[0]
  draws = np.where(is_ordinary, draws, -1.0)
  is_kept = (draws >= rate) | (draws == draws.max(axis=1, keepdims=True))
  kept = np.where(is_kept | ~is_ordinary, ids, 0)
  order = np.argsort(kept == 0, axis=1, kind='stable')
  return np.take_along_axis(kept, order, axis=1).astype(np.int32)
