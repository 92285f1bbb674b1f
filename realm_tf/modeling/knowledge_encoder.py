"""Reads a query together with a block: p(y_j|z,x) of the masked tokens."""

from collections.abc import Callable
from typing import Optional

import tensorflow as tf
import tf_keras


class KnowledgeEncoder(tf_keras.layers.Layer):
  """The knowledge-augmented encoder of pre-training.

  p(y_j|z,x) is proportional to exp(w_j . BERT_MASK(j)(join(x, z_body))),
  Section 3.2 of Guu et al. 2020, with BERT's transform before the product. The
  head runs on the masked positions only.

  Args:
    encoder: A BERT encoder, see `Embedder`.
    masked_lm: Maps (sequence output [B, L, H], positions int32 [B, M]) to
      logits [B, M, V].
    lean: Stands in for `encoder` in training, and computes the last layer at
      the masked positions only; see `lean_encoder.LeanEncoder`.

  Call arguments:
    tokens: The encoder's input dict of join(x, z), int32 [B, K, L].
    positions: Of the masked tokens in the joint sequence, int32 [B, M].
    gold_ids: The tokens that were masked, int32 [B, M].

  Returns:
    log p(y_j|z,x), float32 [B, K, M].
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    masked_lm: tf_keras.layers.Layer,
    lean: Optional[Callable[..., dict[str, tf.Tensor]]] = None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.encoder = encoder
    self.masked_lm = masked_lm
    self.lean = lean

  def call(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor,
    gold_ids: tf.Tensor,
    training: bool = False,
  ):
    logits = self.logits(tokens, positions, training)  # [B, K, M, V]
    num_candidates = tokens['input_word_ids'].shape[1]
    gold = tf.repeat(gold_ids[:, None, :], num_candidates, axis=1)
    return -tf.nn.sparse_softmax_cross_entropy_with_logits(gold, logits)

  def logits(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor,
    training: bool = False,
  ) -> tf.Tensor:
    """Returns the logits at `positions`, float32 [B, K, M, V]."""
    num_candidates, length = tokens['input_word_ids'].shape[1:]
    flat = {
      name: tf.reshape(value, [-1, length]) for name, value in tokens.items()
    }
    repeated = tf.repeat(positions, num_candidates, axis=0)  # [B * K, M]
    if training and self.lean is not None:
      states = self.lean(flat, repeated, training)['sequence_output']
      # They are all that there is: [B * K, M, H].
      repeated = tf.zeros_like(repeated) + tf.range(positions.shape[1])
    else:
      states = self.encoder(flat, training=training)['sequence_output']
    logits = self.masked_lm(states, repeated)  # [B * K, M, V]
    shape = [-1, num_candidates, positions.shape[1], logits.shape[-1]]
    return tf.cast(tf.reshape(logits, shape), tf.float32)
