"""Perplexity distillation: the reader tells the retriever which blocks helped.

Izacard et al. 2022 (Atlas, https://arxiv.org/abs/2208.03299), Section 2.2.
"""

import tensorflow as tf


def divergence(
  scores: tf.Tensor,
  log_p_y_given_z: tf.Tensor,
  is_real: tf.Tensor,
  temperature: float,
) -> tf.Tensor:
  """Returns KL(softmax(log p(y|z,x) / temperature) || p(z|x)), float32 [B].

  The reader's distribution is a constant, so the gradient by f(x,z) is
  p(z|x) - softmax(log p(y|z,x) / temperature).

  Args:
    scores: f(x,z), float32 [B, K]; far below all others where there is no
      block.
    log_p_y_given_z: float32 [B, K].
    is_real: Whether there is a block, bool [B, K].
    temperature: Above 0; the smaller, the more the best block alone counts.
  """
  taught = tf.where(is_real, log_p_y_given_z / temperature, -1e9)
  log_teacher = tf.stop_gradient(tf.nn.log_softmax(taught))
  terms = tf.exp(log_teacher) * (log_teacher - tf.nn.log_softmax(scores))
  return tf.reduce_sum(tf.where(is_real, terms, 0.0), axis=-1)
