"""Exact search in a TensorFlow graph, on any device.

Ties go to the smaller row, as in `brute_force`. Sorting a whole chunk of rows
is slow. A chunk is cut into groups of 64 rows, and only the K groups with the
largest maxima are sorted. The result is exact:

  Order rows by score, ties by number, and groups by their best row. A row in
  none of the first K groups has K rows before it, the best row of each group,
  and is not in the top K. Groups are ranges of numbers: of two groups with
  equal maxima, the one with the smaller numbers comes first. tf.math.top_k
  also prefers the smaller index.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf.records import null_block

GROUP = 64
# 16 MB: scores stay in the cache, and malloc keeps memory of this size instead
# of returning it to the system each time.
_CHUNK_SCORES = 1 << 22
_MAX_CHUNK_ROWS = 1 << 16

# (scores [Q, C], k) -> values and columns, [Q, at most k].
Top = Callable[[tf.Tensor, int], tuple[tf.Tensor, tf.Tensor]]


def top_rows(
  rows: Any, queries: tf.Tensor, num_rows: Any, k: int, top: Top | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns the rows with the largest inner products, best first.

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
  static = queries.shape[0]
  num_queries = tf.shape(queries)[0] if static is None else static
  chunk = _chunk_rows(num_queries, size)

  def step(i: tf.Tensor, numbers: tf.Tensor, values: tf.Tensor) -> tuple:
    # The last chunk starts earlier, to be as long as the others.
    start = tf.minimum(i * chunk, size - chunk)
    some = tf.cast(tf.slice(rows, [start, 0], [chunk, width]), tf.float32)
    scores = tf.matmul(queries, some, transpose_b=True)  # [Q, chunk]
    scores = tf.cond(
      (i + 1) * chunk > tf.minimum(num_rows, size),
      lambda: _mask(scores, start, i * chunk, num_rows),
      lambda: scores,
    )
    new_values, columns = top(scores, k)
    # Earlier chunks have smaller numbers: they come first among ties.
    values, order = tf.math.top_k(tf.concat([values, new_values], axis=1), k)
    numbers = tf.concat([numbers, columns + start], axis=1)
    return i + 1, tf.gather(numbers, order, batch_dims=1), values

  nothing = (
    tf.fill([num_queries, k], null_block.ID),
    tf.fill([num_queries, k], -np.inf),
  )
  _, numbers, values = tf.while_loop(
    lambda i, *_: i * chunk < size,
    step,
    (tf.constant(0), *nothing),
    parallel_iterations=1,
  )
  return tf.where(values > -np.inf, numbers, null_block.ID), values


def approximate_top(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns most of a chunk's top `k`; fast only on TPUs."""
  return tf.math.approx_max_k(scores, min(k, scores.shape[1]))


def _exact_top(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
  if scores.shape[1] is not None:
    is_wide = scores.shape[1] > 2 * k * GROUP
    return _top_by_groups(scores, k) if is_wide else _plain_top(scores, k)
  return tf.cond(
    tf.shape(scores)[1] > 2 * k * GROUP,
    lambda: _top_by_groups(scores, k),
    lambda: _plain_top(scores, k),
  )


def _plain_top(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
  width = scores.shape[1]
  found = min(k, width) if width else tf.minimum(k, tf.shape(scores)[1])
  values, columns = tf.math.top_k(scores, found)
  return values, columns


def _top_by_groups(scores: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
  grouped = tf.reshape(scores, [tf.shape(scores)[0], -1, GROUP])
  _, groups = tf.math.top_k(tf.reduce_max(grouped, axis=2), k)
  groups = tf.sort(groups, axis=1)  # In the order of rows, for ties.
  best = tf.gather(grouped, groups, batch_dims=1)  # [Q, k, GROUP]
  values, places = tf.math.top_k(tf.reshape(best, [-1, k * GROUP]), k)
  groups = tf.gather(groups, places // GROUP, batch_dims=1)
  return values, groups * GROUP + places % GROUP


def _chunk_rows(num_queries: Any, size: int) -> Any:
  """Returns the number of rows scored at once, a multiple of `GROUP`."""
  most = min(_MAX_CHUNK_ROWS, size)
  if isinstance(num_queries, int):
    wanted = _CHUNK_SCORES // max(1, num_queries) // GROUP * GROUP
    return max(GROUP, min(most, wanted))
  wanted = _CHUNK_SCORES // tf.maximum(num_queries, 1) // GROUP * GROUP
  return tf.clip_by_value(wanted, GROUP, most)


def _mask(
  scores: tf.Tensor, start: tf.Tensor, first: tf.Tensor, end: Any
) -> tf.Tensor:
  """Sets scores outside of rows [first, end) to -inf; column 0 is `start`."""
  numbers = start + tf.range(tf.shape(scores)[1])
  is_valid = (numbers >= first) & (numbers < end)
  return tf.where(is_valid[None], scores, -np.inf)
