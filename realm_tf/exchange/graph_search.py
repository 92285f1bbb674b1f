"""Exact search as a module of a SavedModel, for batches of unknown size."""

import numpy as np
import tensorflow as tf

from realm_tf.index import exact_search


class ExactSearch(tf.Module):
  """Scores every block; equal scores are sorted by block id.

  The module copies the embeddings, float32 [N, D], which may be memory-mapped.
  """

  def __init__(self, embeddings: np.ndarray):
    super().__init__(name='exact_search')
    self._num_blocks = len(embeddings)
    self._embeddings = tf.Variable(
      exact_search.padded(embeddings), trainable=False
    )

  def find(self, queries: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns ids, int32 [B, k], and scores, float32 [B, k]; k <= N."""
    found = exact_search.top_rows(
      self._embeddings, queries, self._num_blocks, k
    )
    ids, scores = (tf.ensure_shape(x, [None, k]) for x in found)
    return ids, scores
