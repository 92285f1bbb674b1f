"""Exact search on the devices of a distribution strategy.

Each replica searches its part of the embeddings with `exact_search`. The host
merges the results.
"""

import functools
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from realm_tf.index import exact_search
from realm_tf.index import searcher

_COPIED_BLOCKS = 1 << 16
_MAX_QUERIES = 4096


class DeviceSearcher:
  """Scores every block. Equal scores are ordered by block id.

  On a TPU `tf.math.approx_max_k` finds the top K of a chunk and may miss some.
  TPUs and newer GPUs round the factors of a product.

  Args:
    embeddings: float [N, D]; may be memory-mapped.
    dtype: 'float32' or 'bfloat16', on the device. Sums are float32.
    strategy: Splits the blocks over its replicas; by default the first GPU,
      else the CPU.
  """

  def __init__(
    self,
    embeddings: np.ndarray,
    dtype: str = 'float32',
    strategy: Optional[tf.distribute.Strategy] = None,
  ):
    self._strategy = strategy or _one_device()
    self._num_blocks = len(embeddings)
    share = -(-self._num_blocks // self._strategy.num_replicas_in_sync)

    def part(context: Any) -> tf.Tensor:
      first = context.replica_id_in_sync_group * share
      return tf.constant(padded(embeddings, first, first + share, dtype))

    def rows(context: Any) -> tf.Tensor:
      first = context.replica_id_in_sync_group * share
      return tf.constant([first, min(share, self._num_blocks - first)])

    distribute = self._strategy.experimental_distribute_values_from_function
    self._parts = distribute(part), distribute(rows)

  def search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    k = min(k, self._num_blocks)
    found = [
      self._search(queries[start : start + _MAX_QUERIES], k)
      for start in range(0, len(queries), _MAX_QUERIES)
    ]
    return searcher.Neighbors(*map(np.concatenate, zip(*found)))

  def _search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    # Padding to powers of two: few shapes are compiled.
    padded = np.zeros(
      [1 << (len(queries) - 1).bit_length(), queries.shape[1]], np.float32
    )
    padded[: len(queries)] = queries
    found = _compiled(self._strategy)(*self._parts, tf.constant(padded), k)
    local = self._strategy.experimental_local_results
    ids, scores = (
      np.concatenate([x.numpy()[: len(queries)] for x in local(values)], axis=1)
      for values in found
    )
    # Replicas are in the order of ids: the stable sort keeps it for ties.
    order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
    return searcher.Neighbors(
      np.take_along_axis(ids, order, axis=1),
      np.take_along_axis(scores, order, axis=1),
    )


def padded(
  embeddings: np.ndarray, start: int, end: int, dtype: str = 'float32'
) -> np.ndarray:
  """Returns rows [start, end), padded with zeros to a multiple of `GROUP`."""
  size = -(-(end - start) // exact_search.GROUP) * exact_search.GROUP
  result = np.zeros(
    [size, embeddings.shape[1]], tf.as_dtype(dtype).as_numpy_dtype
  )
  end = min(end, len(embeddings))
  # In pieces: a slice of embeddings on disk is a decoded copy.
  for first in range(start, end, _COPIED_BLOCKS):
    rows = embeddings[first : min(first + _COPIED_BLOCKS, end)]
    result[first - start : first - start + len(rows)] = rows
  return result


@functools.cache
def _one_device() -> tf.distribute.Strategy:
  gpus = tf.config.list_logical_devices('GPU')
  return tf.distribute.OneDeviceStrategy('/gpu:0' if gpus else '/cpu:0')


@functools.cache
def _compiled(strategy: tf.distribute.Strategy) -> Any:
  """Returns the search on all replicas, shared by all indexes of a shape."""
  is_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
  top = exact_search.approximate_top if is_tpu else None

  @tf.function
  def search(parts: Any, rows: Any, queries: tf.Tensor, k: int) -> Any:
    def search_part(
      part: tf.Tensor, rows: tf.Tensor, queries: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
      first, number = rows[0], rows[1]
      found, scores = exact_search.top_rows(part, queries, number, k, top)
      return tf.where(found >= 0, found + first, found), scores

    return strategy.run(search_part, args=(parts, rows, queries))

  return search
