"""Scores paths of one block, or of two blocks with a link between them."""

import tensorflow as tf
import tf_keras

from realm_tf import interfaces

PREFIX = 'path_scorer/'
_WIDTH = 4  # Hidden units of the state's MLP, in embedding sizes.


class PathScorer(tf_keras.layers.Layer):
  """log p(path|x), after Asai et al. 2020, Section 3.1.

  https://arxiv.org/abs/1911.10470. With the question's embedding
  h_0 = Embed_input(x):

    h_1 = h_0 + MLP([h_0; Embed_doc(z_1)])
    p(z_1|x) = softmax over seeds of h_0 . Embed_doc(z_1)
    p(z_2|x, z_1) = softmax over linked blocks of h_1 . Embed_doc(z_2), and
      over the end of the path, with a learned score of h_1.

  Deviations: the MLP's output is added to the last state. A step uses the
  block's embedding from the index, and costs a product instead of a BERT over
  question and block. Each step is one softmax instead of a sigmoid per block,
  so that the probabilities of paths add up to one.

  A call returns log p of the path that ends at the seed, and of each path to a
  linked block, float32 [B, F, 1 + M]; NO_SCORE where a block does not exist.

  Call arguments:
    queries: Embeddings from `RealmModel.embed_queries`, [B, D].
    blocks: Embeddings of each of F seeds and its M links, [B, F, 1 + M, D].
    exists: Whether each block exists, bool [B, F, 1 + M].
  """

  def __init__(self, size: int, **kwargs):
    super().__init__(**kwargs)
    dense = tf_keras.layers.Dense
    self._norm = tf_keras.layers.LayerNormalization(name='norm')
    self._hidden = dense(_WIDTH * size, 'relu', name='hidden')
    # Zeros: at first, the second step scores blocks like the question does.
    self._change = dense(size, name='change', kernel_initializer='zeros')
    self._end = dense(1, name='end', kernel_initializer='zeros')

  def call(self, queries: tf.Tensor, blocks: tf.Tensor, exists: tf.Tensor):
    seeds, behind = blocks[:, :, 0], blocks[:, :, 1:]
    first = tf.einsum('bd,bfd->bf', queries, seeds)
    asked = tf.broadcast_to(queries[:, None], tf.shape(seeds))
    known = self._norm(tf.concat([asked, seeds], axis=-1))
    states = asked + self._change(self._hidden(known))  # [B, F, D]
    second = tf.concat(
      [self._end(states), tf.einsum('bfd,bfmd->bfm', states, behind)], axis=-1
    )
    paths = _log_softmax(first, exists[:, :, 0])[:, :, None]
    paths += _log_softmax(second, exists)
    return tf.where(exists, paths, interfaces.NO_SCORE)


def _log_softmax(scores, exists):
  """Returns log-probabilities over existing blocks in the last axis."""
  return tf.nn.log_softmax(tf.where(exists, scores, interfaces.NO_SCORE))
