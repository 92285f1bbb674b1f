"""Exact search inside a graph of unknown batch size.

  queries [B, D], blocks [N, D] -> the k largest inner products of each query

Of equal scores the smaller block id comes first, as in `index.brute_force`. The
scores of one chunk of blocks are in memory at a time.
"""

import numpy as np
import tensorflow as tf

_CHUNK_SCORES = 1 << 22  # 16 MB of float32.
_MIN_CHUNK_BLOCKS = 1 << 10
_MAX_CHUNK_BLOCKS = 1 << 16


class ExactSearch(tf.Module):
  """Scores every block.

  Args:
    embeddings: Block embeddings, float32 [N, D]; may be memory-mapped. The
      module copies them.
  """

  def __init__(self, embeddings: np.ndarray):
    super().__init__(name='exact_search')
    parts = [
      tf.constant(embeddings[start : start + _MAX_CHUNK_BLOCKS], tf.float32)
      for start in range(0, len(embeddings), _MAX_CHUNK_BLOCKS)
    ]
    self._embeddings = tf.Variable(tf.concat(parts, axis=0), trainable=False)

  def find(self, queries: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the best blocks, best first.

    Args:
      k: Number of blocks, at most N.

    Returns:
      Block ids, int32 [B, k], and scores, float32 [B, k].
    """
    return _search(self._embeddings, queries, k)


def _search(embeddings, queries, k):
  num_blocks, num_queries = embeddings.shape[0], tf.shape(queries)[0]
  chunk = tf.clip_by_value(
    _CHUNK_SCORES // tf.maximum(num_queries, 1),
    _MIN_CHUNK_BLOCKS,
    _MAX_CHUNK_BLOCKS,
  )

  def step(start, ids, scores):
    rows = tf.cast(embeddings[start : start + chunk], tf.float32)
    found, places = _top(tf.matmul(queries, rows, transpose_b=True), k)
    # Blocks found before have smaller ids, and come first among equals.
    scores, order = _top(tf.concat([scores, found], axis=1), k)
    ids = tf.concat([ids, places + start], axis=1)
    return start + chunk, tf.gather(ids, order, batch_dims=1), scores

  nothing = (
    tf.zeros([num_queries, 0], tf.int32),
    tf.zeros([num_queries, 0], tf.float32),
  )
  unknown = tf.TensorShape([None, None])
  _, ids, scores = tf.while_loop(
    lambda start, *_: start < num_blocks,
    step,
    (tf.constant(0), *nothing),
    shape_invariants=(tf.TensorShape([]), unknown, unknown),
    parallel_iterations=1,
  )
  return tuple(tf.ensure_shape(x, [None, k]) for x in (ids, scores))


def _top(scores, k):
  """Returns the values and columns of each row's k largest, or of all."""
  return tf.math.top_k(scores, tf.minimum(k, tf.shape(scores)[1]))
