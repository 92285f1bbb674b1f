"""Scores paths of one or two blocks, the second behind a link of the first.

question, block -> state of the path -> it ends here, or where it goes on
"""

import tensorflow as tf
import tf_keras

from realm_tf.objectives import exclusion

PREFIX = 'path_scorer/'
_WIDTH = 4  # Hidden units of the state's network, in embedding sizes.


class PathScorer(tf_keras.layers.Layer):
  """log p(path|x), step by step, after Asai et al. 2020, Section 3.1.

  https://arxiv.org/abs/1911.10470. A path's state is first the question's
  embedding h_0 = Embed_input(x), then

    h_1 = h_0 + MLP([h_0; Embed_doc(z_1)])
    p(z_1|x) = softmax over seeds of h_0 . Embed_doc(z_1)
    p(z_2|x, z_1) = softmax over blocks behind z_1 of h_1 . Embed_doc(z_2),
      and over the end of the path, which has a learned score of h_1.

  Deviations: a state is added to the last one, and a block is not read together
  with the question: its embedding of the index is used, so that a step costs a
  product instead of a BERT. Each step is one softmax instead of a sigmoid per
  block, so that the probabilities of paths add up to one.

  Args:
    size: D, the width of embeddings.

  Call arguments:
    queries: f(x,z)'s left side, `RealmModel.embed_queries`, [B, D].
    blocks: Embeddings, [B, F, 1 + M, D]: each of F seeds, then M blocks behind
      it.
    exists: Which of them exist, bool [B, F, 1 + M].

  Returns:
    float32 [B, F, 1 + M]: log p of the path that ends at the seed, then of
    those that go on to a block behind it; NO_SCORE where there is none.
  """

  def __init__(self, size: int, **kwargs):
    super().__init__(**kwargs)
    dense = tf_keras.layers.Dense
    self._norm = tf_keras.layers.LayerNormalization(name='norm')
    self._hidden = dense(_WIDTH * size, 'relu', name='hidden')
    # From 0 on: at first a path goes on as the question would.
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
    return tf.where(exists, paths, exclusion.NO_SCORE)


def _log_softmax(scores, exists):
  """Returns log-probabilities of the last axis over what exists."""
  return tf.nn.log_softmax(tf.where(exists, scores, exclusion.NO_SCORE))
