"""Exact search: in NumPy, on a device, and in a graph.

All three order equal scores by block id. Sorting a whole row of scores is slow,
so only the best of disjoint groups are sorted. The result is exact:

  Order blocks by score, ties by number, and groups by their best block. A block
  in none of the first K groups has K blocks before it, the best one of each
  group, and is not in the top K. Where groups are ranges of numbers, of two
  groups with equal maxima the one with the smaller numbers comes first;
  tf.math.top_k also prefers the smaller index.

NumPy needs no copy of embeddings on disk, no compilation and no padding, and is
the oracle of the others. TensorFlow searches batches twice as fast on CPUs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.index import searcher

GROUP = 64
RECALL_TARGET = 0.95  # Of the top of each chunk, on a TPU.
_NUMPY_GROUP = 32
_CHUNK_BLOCKS = 1 << 18  # In NumPy.
_CHUNK_SCORES = 1 << 23  # 32 MB; partitioning takes a multiple of that.
# 16 MB: scores stay in the cache, and malloc keeps memory of this size instead
# of returning it to the system each time.
_GRAPH_CHUNK_SCORES = 1 << 22
_MAX_CHUNK_ROWS = 1 << 16
_USUAL_QUERIES = 64  # Of a graph for any number of queries.
_COPIED_BLOCKS = 1 << 16
_MAX_QUERIES = 4096

# (scores [Q, C], k) -> values and columns, [Q, at most k].
Top = Callable[[tf.Tensor, int], tuple[tf.Tensor, tf.Tensor]]


class BruteForceSearcher:
  """Scores all blocks of float [N, D], which may be memory-mapped."""

  def __init__(self, embeddings: np.ndarray):
    self._embeddings = embeddings

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    ids, scores = [], []
    step = min(_CHUNK_BLOCKS, max(1, _CHUNK_SCORES // max(1, len(queries))))
    for start in range(0, len(self._embeddings), step):
      chunk = np.asarray(self._embeddings[start : start + step], np.float32)
      chunk_ids, chunk_scores = largest(queries @ chunk.T, k)
      ids.append(chunk_ids + start)
      scores.append(chunk_scores)
    order, values = largest(np.concatenate(scores, axis=1), k)
    found = np.take_along_axis(np.concatenate(ids, axis=1), order, axis=1)
    return interfaces.Neighbors(found.astype(np.int32), values)


def largest(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns columns and values of each row's `k` largest, best first, [B, k].

  Equal values are in the order of their columns. `scores`, float [B, N], with
  N < k has N results.
  """
  k = min(k, scores.shape[1])
  # At least `k` scores reach the k-th largest maximum of disjoint groups, and
  # few others do: a tenth of the time of partitioning the row.
  bounds = np.full(len(scores), -np.inf, scores.dtype)
  num_groups = scores.shape[1] // _NUMPY_GROUP
  if 0 < k <= num_groups:
    groups = scores[:, : num_groups * _NUMPY_GROUP]
    best = groups.reshape(len(scores), _NUMPY_GROUP, -1).max(axis=1)
    bounds = np.partition(best, num_groups - k, axis=1)[:, num_groups - k]
  columns = np.empty([len(scores), k], np.int64)
  for row, bound in enumerate(bounds):
    some = np.flatnonzero(~(scores[row] < bound))  # With NaN.
    columns[row] = some[np.argsort(-scores[row, some], kind='stable')[:k]]
  values = np.take_along_axis(scores, columns, axis=1)
  return columns, values.astype(np.float32)


class DeviceSearcher:
  """Scores every block on the first GPU, else on the CPU.

  Newer GPUs round the factors of a product.

  Args:
    embeddings: float [N, D]; may be memory-mapped.
    dtype: 'float32' or 'bfloat16', on the device. Sums are float32.
  """

  def __init__(self, embeddings: np.ndarray, dtype: str = 'float32'):
    self._num_blocks = len(embeddings)
    gpus = tf.config.list_logical_devices('GPU')
    self._device = '/gpu:0' if gpus else '/cpu:0'
    with tf.device(self._device):
      self._rows = tf.constant(padded(embeddings, dtype))

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    k = min(k, self._num_blocks)
    found = [searcher.nothing(0, k)]
    for start in range(0, len(queries), _MAX_QUERIES):
      some = np.asarray(queries[start : start + _MAX_QUERIES], np.float32)
      # Padding to powers of two: few shapes are compiled.
      missing = (1 << (len(some) - 1).bit_length()) - len(some)
      filled = tf.constant(np.pad(some, [(0, missing), (0, 0)]))
      with tf.device(self._device):
        best = _compiled(self._rows, filled, tf.constant(self._num_blocks), k)
      found.append(
        interfaces.Neighbors(*(x.numpy()[: len(some)] for x in best))
      )
    return interfaces.Neighbors(*map(np.concatenate, zip(*found)))


def padded(
  embeddings: np.ndarray,
  dtype: str = 'float32',
  *,
  ids: np.ndarray | None = None,
  size: int | None = None,
) -> np.ndarray:
  """Returns rows, by default all, padded with zeros.

  Args:
    ids: Rows to take, int [n].
    size: Number of rows with padding; by default a multiple of `GROUP`.
  """
  number = len(embeddings) if ids is None else len(ids)
  width = embeddings.shape[1]
  size = -(-number // GROUP) * GROUP if size is None else size
  result = np.zeros([size, width], tf.as_dtype(dtype).as_numpy_dtype)
  # In pieces: a slice of embeddings on disk is a decoded copy.
  for first in range(0, number, _COPIED_BLOCKS):
    piece = slice(first, min(first + _COPIED_BLOCKS, number))
    rows = embeddings[piece if ids is None else ids[piece]]
    result[first : first + len(rows)] = rows
  return result


def top_rows(
  rows: Any, queries: tf.Tensor, num_rows: Any, k: int, top: Top | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns the rows with the largest inner products, best first, in a graph.

  Args:
    rows: Tensor or variable, [S, D]; S is a multiple of `GROUP`.
    queries: float32 [Q, D]; Q may be unknown.
    num_rows: Number of rows that are not padding.
    top: Top of a chunk; by default the exact one.

  Returns:
    Row numbers, int32 [Q, k], and scores, float32 [Q, k]; -1 and -inf
    where there are fewer rows.
  """
  top = top or _exact_top
  size, width = rows.shape
  fitting = _GRAPH_CHUNK_SCORES // (queries.shape[0] or _USUAL_QUERIES)
  fitting = fitting // GROUP * GROUP
  chunk = max(GROUP, min(_MAX_CHUNK_ROWS, size, fitting))

  def step(i: tf.Tensor, numbers: tf.Tensor, values: tf.Tensor) -> tuple:
    # The last chunk starts earlier, to be as long as the others.
    start = tf.minimum(i * chunk, size - chunk)
    some = tf.cast(tf.slice(rows, [start, 0], [chunk, width]), tf.float32)
    scores = tf.matmul(queries, some, transpose_b=True)  # [Q, chunk]

    def masked() -> tf.Tensor:
      columns = start + tf.range(chunk)
      is_new = (columns >= i * chunk) & (columns < num_rows)
      return tf.where(is_new[None], scores, -np.inf)

    is_last = (i + 1) * chunk > tf.minimum(num_rows, size)
    new_values, columns = top(tf.cond(is_last, masked, lambda: scores), k)
    # Earlier chunks have smaller numbers: they come first among ties.
    values, order = tf.math.top_k(tf.concat([values, new_values], axis=1), k)
    numbers = tf.concat([numbers, columns + start], axis=1)
    return i + 1, tf.gather(numbers, order, batch_dims=1), values

  # A TPU needs the static number.
  shape = [queries.shape[0] or tf.shape(queries)[0], k]
  nothing = tf.fill(shape, interfaces.NULL_BLOCK), tf.fill(shape, -np.inf)
  _, numbers, values = tf.while_loop(
    lambda i, *_: i * chunk < size,
    step,
    (tf.constant(0), *nothing),
    parallel_iterations=1,
  )
  return tf.where(values > -np.inf, numbers, interfaces.NULL_BLOCK), values


# For all indexes of a shape.
_compiled = tf.function(top_rows, autograph=False)


def approximate_top(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns most of a chunk's top `k`; fast only on TPUs."""
  k = min(k, scores.shape[1])
  return tf.math.approx_max_k(scores, k, recall_target=RECALL_TARGET)


def _exact_top(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
  width = scores.shape[1]
  if width <= 2 * k * GROUP:
    return tuple(tf.math.top_k(scores, min(k, width)))
  grouped = tf.reshape(scores, [-1, width // GROUP, GROUP])
  _, groups = tf.math.top_k(tf.reduce_max(grouped, axis=2), k)
  groups = tf.sort(groups, axis=1)  # In the order of rows, for ties.
  best = tf.gather(grouped, groups, batch_dims=1)  # [Q, k, GROUP]
  values, places = tf.math.top_k(tf.reshape(best, [-1, k * GROUP]), k)
  groups = tf.gather(groups, places // GROUP, batch_dims=1)
  return values, groups * GROUP + places % GROUP
