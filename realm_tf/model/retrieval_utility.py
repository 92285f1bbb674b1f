"""Retrieval utility: the log-likelihood that a block adds to the null block."""

import tensorflow as tf

NULL_POSITION = 0  # The null block is always the first candidate.


def block_utility(log_p_y_given_z: tf.Tensor) -> tf.Tensor:
  """Returns RU(z|x) = log p(y|z,x) - log p(y|null,x), float32 [B, K].

  Appendix D of Guu et al. 2020; the null block's utility is 0.
  """
  null = log_p_y_given_z[:, NULL_POSITION : NULL_POSITION + 1]  # [B, 1]
  return log_p_y_given_z - null


def marginal_utility(
  log_p_y: tf.Tensor, log_p_y_given_z: tf.Tensor
) -> tf.Tensor:
  """Returns log p(y|x) - log p(y|null,x), float32 [B].

  The authors' release calls it retrieval utility and selects models by it.
  """
  return log_p_y - log_p_y_given_z[:, NULL_POSITION]


def rank_of_best(scores: tf.Tensor, log_p_y_given_z: tf.Tensor) -> tf.Tensor:
  """Returns the retriever's rank of the most useful block, float32 [B].

  Ranks begin at 1; equal scores share the better rank. The first of equally
  useful blocks counts.

  Args:
    scores: f(x,z), float32 [B, K].
    log_p_y_given_z: log p(y|z,x), float32 [B, K].
  """
  best = tf.argmax(log_p_y_given_z, axis=-1, output_type=tf.int32)  # [B]
  of_best = tf.gather(scores, best, batch_dims=1)[:, None]
  return 1.0 + tf.reduce_sum(tf.cast(scores > of_best, tf.float32), axis=-1)
