"""Computes log p of masked tokens with the vocabulary product in bfloat16.

The result equals `bert.build_masked_lm_head`'s layer with a cross entropy.
TensorFlow's softmax kernel is several times as fast as its cross entropy.
"""

import tensorflow as tf
import tf_keras

from realm_tf.modeling import islands

_PAD_ID = 0
_ROWS = 64  # Rows are filled up to multiples: each number is compiled.


class Bfloat16Head:
  """Computes log probabilities with a head's current variables, float32 [N, M].

  Call arguments:
    states: The encoder's states at masked positions, float32 [N, M, H].
    gold_ids: Original tokens at these positions, int32 [N, M]; 0 is padding
      and gets the log probability 0. Names have one or two wordpieces of up to
      M, so the product takes a third of the time without padding.
  """

  def __init__(self, head: tf_keras.layers.Layer):
    self._head = head

  def __call__(self, states: tf.Tensor, gold_ids: tf.Tensor) -> tf.Tensor:
    head = self._head
    ids = tf.reshape(gold_ids, [-1])
    real = tf.cast(tf.where(ids != _PAD_ID), tf.int32)  # [R, 1]
    number = tf.shape(real)[0]
    rows = tf.pad(real[:, 0], [[0, _ROWS - number % _ROWS]])
    flat = tf.gather(tf.reshape(states, [-1, states.shape[-1]]), rows)
    log_probs = _log_probs(
      tf.cast(head.layer_norm(head.dense(flat)), tf.bfloat16),
      tf.cast(head.embedding_table, tf.bfloat16),
      tf.convert_to_tensor(head.bias),
      tf.gather(ids, rows),
    )
    log_probs = tf.scatter_nd(real, log_probs[:number], tf.shape(ids))
    return tf.reshape(log_probs, tf.shape(gold_ids))


@tf.custom_gradient
def _log_probs(states, table, bias, gold_ids):
  """Returns float32 [N] from bfloat16 [N, H] and [V, H], and float32 [V]."""
  products = tf.matmul(states, table, transpose_b=True)
  # The graph optimizer sees no shape of an island, and would warn of ranks.
  logits = tf.ensure_shape(_biased(products, bias), products.shape)
  probabilities = tf.nn.softmax(logits)
  # The gold token's probability can underflow; the largest one cannot.
  log_sums = tf.reduce_max(logits, axis=-1) - tf.math.log(
    tf.reduce_max(probabilities, axis=-1)
  )

  def gradient(upstream):
    d_logits = _d_logits(probabilities, gold_ids, upstream)
    d_table = tf.matmul(d_logits, states, transpose_a=True)
    return d_logits @ table, d_table, islands.sum_rows(d_logits), None

  return tf.gather(logits, gold_ids, batch_dims=1) - log_sums, gradient


@islands.compiled
def _biased(logits, bias):
  return tf.cast(logits, tf.float32) + bias


@islands.compiled
def _d_logits(probabilities, gold_ids, upstream):
  is_gold = tf.one_hot(gold_ids, probabilities.shape[-1])
  return tf.cast((is_gold - probabilities) * upstream[:, None], tf.bfloat16)
