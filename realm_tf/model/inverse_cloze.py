"""Inverse Cloze Task: find the block that a sentence was taken from."""

from typing import Optional

import tensorflow as tf

from realm_tf.model import exclusion


def in_batch_log_likelihood(
  query_embeddings: tf.Tensor,
  block_embeddings: tf.Tensor,
  first: int | tf.Tensor = 0,
  is_compared: Optional[tf.Tensor] = None,
) -> tf.Tensor:
  """Returns log p(z|x) of each query's own block in the batch, float32 [B].

  Lee et al. 2019, Eq. 9 (https://arxiv.org/abs/1906.00300), with the blocks of
  the batch in place of the corpus:

    p(z_b|x_b) = exp(f(x_b, z_b)) / sum_{b'} exp(f(x_b, z_b'))

  Args:
    query_embeddings: A part of the batch, float32 [B, D].
    block_embeddings: The whole batch, float32 [N, D]; query b's own block is
      row `first` + b.
    is_compared: Whether the sum includes block b', bool [B, N]; false for a
      block that may be right too, such as a repetition. By default all.
  """
  scores, own = _scores_and_own(
    query_embeddings, block_embeddings, first, is_compared
  )
  return -tf.nn.sparse_softmax_cross_entropy_with_logits(own, scores)


def in_batch_accuracy(
  query_embeddings: tf.Tensor,
  block_embeddings: tf.Tensor,
  first: int | tf.Tensor = 0,
  is_compared: Optional[tf.Tensor] = None,
) -> tf.Tensor:
  """Returns 1.0 where a query scores its own block highest, float32 [B]."""
  scores, own = _scores_and_own(
    query_embeddings, block_embeddings, first, is_compared
  )
  best = tf.argmax(scores, axis=-1, output_type=tf.int32)
  return tf.cast(tf.equal(best, own), tf.float32)


def _scores_and_own(
  queries: tf.Tensor,
  blocks: tf.Tensor,
  first: int | tf.Tensor,
  is_compared: Optional[tf.Tensor],
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns f(x,z), float32 [B, N], and each query's own row z, int32 [B]."""
  scores = tf.matmul(queries, blocks, transpose_b=True)
  if is_compared is not None:
    scores = tf.where(is_compared, scores, exclusion.NO_SCORE)
  return scores, first + tf.range(tf.shape(queries)[0])
