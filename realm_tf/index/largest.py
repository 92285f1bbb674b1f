"""The largest values of each row of a matrix, with ties by column."""

import numpy as np

_GROUP = 32


def of_rows(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns columns and values of each row's `k` largest, best first, [B, k].

  Equal values are in the order of their columns. `scores`, float [B, N], with
  N < k has N results.
  """
  k = min(k, scores.shape[1])
  columns = np.empty([len(scores), k], np.int64)
  for row, bound in enumerate(_lower_bounds(scores, k)):
    some = np.flatnonzero(~(scores[row] < bound))  # With NaN.
    columns[row] = some[np.argsort(-scores[row, some], kind='stable')[:k]]
  values = np.take_along_axis(scores, columns, axis=1)
  return columns, values.astype(np.float32)


def _lower_bounds(scores: np.ndarray, k: int) -> np.ndarray:
  """Returns a value per row, [B], that at least `k` scores reach.

  The k-th largest maximum of disjoint groups. Few other scores reach it, so
  this takes a tenth of the time of partitioning the row.
  """
  num_groups = scores.shape[1] // _GROUP
  if not 0 < k <= num_groups:
    return np.full(len(scores), -np.inf, scores.dtype)
  groups = scores[:, : num_groups * _GROUP].reshape(len(scores), _GROUP, -1)
  largest = groups.max(axis=1)
  return np.partition(largest, num_groups - k, axis=1)[:, num_groups - k]
