"""Exact search in TensorFlow, on the devices of a distribution strategy.

  queries -> replicas: chunks of blocks -> top groups -> top K -> merged top K

Each replica holds a part of the embeddings. It scores them chunk by chunk, one
matrix product each, and keeps of every 64 blocks, a group, only the maximum.
The K best groups are then scored again, block by block. That is exact:

  Order blocks by score, ties by id, and groups by their first block in that
  order. If one of the top K blocks were in a group behind the K first groups,
  the first block of each of those would be before it: K blocks, so it would not
  be in the top K. Groups are ranges of ids, so among groups of equal maximum
  the one with the smaller ids is first; tf.math.top_k, too, prefers the smaller
  index.
"""

import functools
from typing import Optional

import numpy as np
import tensorflow as tf

from realm_tf.index import searcher
from realm_tf.records import null_block

_GROUP = 64
# Scores of one chunk: they stay in the cache, and below the size from which the
# memory of an array goes back to the system each time.
_CHUNK_SCORES = 1 << 22
_MAX_CHUNK_BLOCKS = 1 << 16
_RESCORED_FLOATS = 1 << 24  # Values of the blocks gathered at once.
_MAX_QUERIES = 4096


class DeviceSearcher:
  """Scores every block; of equal scores the smaller block id comes first.

  On a TPU the top K of a chunk is `tf.math.approx_max_k`, which may miss some.
  Products have the devices' precision: TPUs and newer GPUs round the factors.

  Args:
    embeddings: float [N, D]; may be memory-mapped. They are copied.
    dtype: Dtype in which they are kept, 'float32' or 'bfloat16'; scores are
      summed in float32.
    strategy: Strategy whose replicas share the blocks; by default the first
      GPU, else the CPU.
  """

  def __init__(
    self,
    embeddings: np.ndarray,
    dtype: str = 'float32',
    strategy: Optional[tf.distribute.Strategy] = None,
  ):
    self._strategy = strategy or _one_device()
    self._num_blocks = len(embeddings)
    replicas = self._strategy.num_replicas_in_sync
    share = -(-self._num_blocks // replicas)
    share = -(-share // _GROUP) * _GROUP  # Whole groups.

    def part(context):
      first = context.replica_id_in_sync_group * share
      padded = np.zeros(
        [share, embeddings.shape[1]], tf.as_dtype(dtype).as_numpy_dtype
      )
      for start in range(0, share, _MAX_CHUNK_BLOCKS):  # They may be decoded.
        end = min(start + _MAX_CHUNK_BLOCKS, share)
        rows = embeddings[first + start : first + end]
        padded[start : start + len(rows)] = rows
      return tf.constant(padded)

    def first_id(context):
      return tf.constant(context.replica_id_in_sync_group * share)

    distribute = self._strategy.experimental_distribute_values_from_function
    self._parts = distribute(part), distribute(first_id)

  def search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    """Returns the top `k` of each query; see `searcher.Searcher`."""
    k = min(k, self._num_blocks)
    found = [
      self._search(queries[start : start + _MAX_QUERIES], k)
      for start in range(0, len(queries), _MAX_QUERIES)
    ]
    return searcher.Neighbors(*map(np.concatenate, zip(*found)))

  def _search(self, queries, k):
    # Powers of two, so that few shapes are compiled.
    padded = np.zeros(
      [1 << (len(queries) - 1).bit_length(), queries.shape[1]], np.float32
    )
    padded[: len(queries)] = queries
    ids, scores = _compiled(self._strategy)(
      *self._parts, tf.constant(padded), tf.constant(self._num_blocks), k
    )
    local = self._strategy.experimental_local_results
    ids, scores = (
      np.concatenate([x.numpy()[: len(queries)] for x in local(values)], axis=1)
      for values in (ids, scores)
    )
    # Replicas are in the order of ids, and the sort is stable.
    order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
    return searcher.Neighbors(
      np.take_along_axis(ids, order, axis=1),
      np.take_along_axis(scores, order, axis=1),
    )


@functools.cache
def _one_device():
  gpus = tf.config.list_logical_devices('GPU')
  return tf.distribute.OneDeviceStrategy('/gpu:0' if gpus else '/cpu:0')


@functools.cache
def _compiled(strategy):
  """Returns the search on all replicas; all indexes of a shape share it."""
  is_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
  search_part = _search_approximately if is_tpu else _search_part

  @tf.function
  def search(parts, first_ids, queries, num_blocks, k):
    return strategy.run(
      functools.partial(search_part, k=k),
      args=(parts, first_ids, queries, num_blocks),
    )

  return search


def _search_part(part, first_id, queries, num_blocks, *, k):
  """Returns the top `k` of one replica, sorted: ids and scores, [Q, k].

  Args:
    part: [S, D]; S is a multiple of the group.
    first_id: Block id of the part's first row.
    queries: float32 [Q, D].
    num_blocks: Rows with this id or a larger one are padding.
    k: Blocks wanted; a part with fewer rows returns fewer.
  """
  share, width = part.shape
  num_groups = min(k, share // _GROUP)
  k = min(k, share)
  num_valid = num_blocks - first_id
  groups = _scan(part, queries, num_valid, num_groups, _top_groups)[0]
  # A power of two, as the number of queries is.
  at_once = _RESCORED_FLOATS // (num_groups * _GROUP * width)
  at_once = min(queries.shape[0], 1 << max(0, at_once.bit_length() - 1))
  rows, scores = tf.map_fn(
    lambda some: _rescore(part, *some, num_valid, k),
    (
      tf.reshape(groups, [-1, at_once, num_groups]),
      tf.reshape(queries, [-1, at_once, width]),
    ),
    fn_output_signature=(tf.int32, tf.float32),
    parallel_iterations=1,
  )
  return _ids(*(tf.reshape(x, [-1, k]) for x in (rows, scores)), first_id)


def _search_approximately(part, first_id, queries, num_blocks, *, k):
  """Does what `_search_part` does, but may miss a few."""
  k = min(k, part.shape[0])
  found = _scan(part, queries, num_blocks - first_id, k, _approximate_top)
  return _ids(*found, first_id)


def _scan(part, queries, num_valid, k, top):
  """Returns the best `k` of what `top` returns of each chunk.

  Args:
    part: [S, D].
    queries: float32 [Q, D].
    num_valid: The rows of `part` from this one on are padding.
    k: Results wanted.
    top: Maps scores [C, Q], the number of their first row and how many are
      wanted, to numbers and values, [Q, wanted].

  Returns:
    Numbers and values, [Q, k], the largest value first; of equal ones, that of
    the earlier chunk.
  """
  share, num_queries = part.shape[0], queries.shape[0]
  chunk = min(share, _chunk_blocks(num_queries))
  num_chunks = -(-share // chunk)

  def step(i, numbers, values):
    # The last chunk is moved back to be as long as the others.
    start = tf.minimum(i * chunk, share - chunk)
    rows = tf.slice(part, [start, 0], [chunk, part.shape[1]])
    # Blocks before queries: TensorFlow multiplies so twice as fast on CPUs.
    scores = tf.matmul(tf.cast(rows, tf.float32), queries, transpose_b=True)
    scores = tf.cond(
      (i + 1) * chunk > tf.minimum(num_valid, share),
      lambda: _mask(scores, start, i * chunk, num_valid),
      lambda: scores,
    )  # [chunk, Q]
    new_numbers, new_values = top(scores, start, k)
    numbers = tf.concat([numbers, new_numbers], axis=1)
    values, order = tf.math.top_k(tf.concat([values, new_values], axis=1), k)
    return i + 1, tf.gather(numbers, order, batch_dims=1), values

  nothing = (
    tf.fill([num_queries, k], null_block.ID),
    tf.fill([num_queries, k], -np.inf),
  )
  return tf.while_loop(
    lambda i, *_: i < num_chunks,
    step,
    (tf.constant(0), *nothing),
    parallel_iterations=1,
  )[1:]


def _chunk_blocks(num_queries):
  blocks = _CHUNK_SCORES // num_queries // _GROUP * _GROUP
  return max(_GROUP, min(_MAX_CHUNK_BLOCKS, blocks))


def _mask(scores, start, first, end):
  """Returns -inf but for rows first, ..., end - 1; row 0 has number `start`."""
  rows = start + tf.range(scores.shape[0])
  is_valid = (rows >= first) & (rows < end)
  return tf.where(is_valid[:, None], scores, -np.inf)


def _top_groups(scores, start, k):
  """Returns numbers and maxima of the best groups; see `_scan`."""
  num_rows, num_queries = scores.shape
  grouped = tf.reshape(scores, [num_rows // _GROUP, _GROUP, num_queries])
  maxima = tf.transpose(tf.reduce_max(grouped, axis=1))  # [Q, groups]
  values, groups = tf.math.top_k(maxima, min(k, num_rows // _GROUP))
  return groups + start // _GROUP, values


def _approximate_top(scores, start, k):
  """Returns rows and scores, a few missed; fast only by XLA for TPUs."""
  values, rows = tf.math.approx_max_k(
    scores, min(k, scores.shape[0]), reduction_dimension=0
  )
  return tf.transpose(rows) + start, tf.transpose(values)


def _rescore(part, groups, queries, num_valid, k):
  """Returns the top `k` rows of each query's groups, and their scores.

  Args:
    part: [S, D].
    groups: int32 [Q, G]; -1 for none.
    queries: float32 [Q, D].
    num_valid: The rows of `part` from this one on are padding.
    k: Rows wanted.
  """
  groups = tf.sort(groups, axis=1)  # In the order of ids, for ties.
  grouped = tf.reshape(part, [-1, _GROUP * part.shape[1]])
  blocks = tf.gather(grouped, tf.maximum(groups, 0))
  blocks = tf.reshape(
    tf.cast(blocks, tf.float32), [queries.shape[0], -1, part.shape[1]]
  )
  scores = tf.linalg.matvec(blocks, queries)  # [Q, G * group]
  rows = groups[:, :, None] * _GROUP + tf.range(_GROUP)
  rows = tf.reshape(rows, tf.shape(scores))
  is_valid = (rows >= 0) & (rows < num_valid)
  values, places = tf.math.top_k(tf.where(is_valid, scores, -np.inf), k)
  return tf.gather(rows, places, batch_dims=1), values


def _ids(rows, scores, first_id):
  """Returns block ids instead of rows of a part."""
  found = scores > -np.inf
  return tf.where(found, rows + first_id, null_block.ID), scores
