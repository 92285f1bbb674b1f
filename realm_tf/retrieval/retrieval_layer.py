"""A searcher as a Keras layer: embeddings in, block ids and scores out."""

import tensorflow as tf
import tf_keras

from realm_tf.index import searcher as searcher_lib


class RetrievalLayer(tf_keras.layers.Layer):
  """Finds the K blocks of largest f(x,z), Section 3.3 of Guu et al. 2020.

  The search runs on the host and has no gradient: f(x,z) is recomputed from the
  blocks that it selects. `searcher` may be exchanged between two calls; a
  compiled function that contains the layer sees the new one.

  Args:
    searcher: Over the block embeddings.
    num_blocks: K.

  Call arguments:
    query_embeddings: float32 [B, D].

  Returns:
    Block ids, int32 [B, K], and scores, float32 [B, K]; `searcher.NOT_FOUND`
    and -inf where the index has fewer blocks.
  """

  def __init__(
    self, searcher: searcher_lib.Searcher, num_blocks: int, **kwargs
  ):
    super().__init__(**kwargs)
    self.num_blocks = num_blocks
    # In a list: Keras would wrap, and try to track, a plain attribute.
    self._holder = [searcher]

  @property
  def searcher(self) -> searcher_lib.Searcher:
    return self._holder[0]

  @searcher.setter
  def searcher(self, searcher: searcher_lib.Searcher):
    self._holder[0] = searcher

  def call(self, query_embeddings: tf.Tensor):
    ids, scores = tf.numpy_function(
      self._search, [tf.stop_gradient(query_embeddings)], [tf.int32, tf.float32]
    )
    shape = [query_embeddings.shape[0], self.num_blocks]
    ids.set_shape(shape)
    scores.set_shape(shape)
    return ids, scores

  def _search(self, query_embeddings):
    neighbors = self._holder[0].search(query_embeddings, self.num_blocks)
    return tuple(searcher_lib.fill(neighbors, self.num_blocks))
