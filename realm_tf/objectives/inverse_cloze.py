"""The Inverse Cloze Task: pick the block that a sentence was taken from."""

import tensorflow as tf


def in_batch_log_likelihood(
  query_embeddings: tf.Tensor, block_embeddings: tf.Tensor
) -> tf.Tensor:
  """Returns log p(z|x) of each query's own block among the batch's blocks.

  Lee et al. 2019, Eq. 9 (https://arxiv.org/abs/1906.00300): the other blocks of
  the batch stand for the corpus,

    p(z_b|x_b) = exp(f(x_b, z_b)) / sum_{b'} exp(f(x_b, z_b'))

  Args:
    query_embeddings: float32 [B, D].
    block_embeddings: float32 [B, D]; row b is the block of query b.

  Returns:
    float32 [B].
  """
  scores = tf.matmul(query_embeddings, block_embeddings, transpose_b=True)
  return tf.linalg.diag_part(tf.nn.log_softmax(scores, axis=-1))


def in_batch_accuracy(
  query_embeddings: tf.Tensor, block_embeddings: tf.Tensor
) -> tf.Tensor:
  """Returns 1.0 where a query scores its own block highest, float32 [B]."""
  scores = tf.matmul(query_embeddings, block_embeddings, transpose_b=True)
  best = tf.argmax(scores, axis=-1, output_type=tf.int32)
  return tf.cast(tf.equal(best, tf.range(tf.shape(best)[0])), tf.float32)
