"""Reads a query with a block and predicts the masked tokens."""

from collections.abc import Callable
from typing import Optional

import tensorflow as tf
import tf_keras


class KnowledgeEncoder(tf_keras.layers.Layer):
  """The knowledge-augmented encoder of pre-training.

  p(y_j|z,x) is proportional to exp(w_j . BERT_MASK(j)(join(x, z_body))),
  Section 3.2 of Guu et al. 2020, with BERT's transform before the product. In
  training, a `LeanEncoder` and a `Bfloat16Head` can replace encoder and head.

  A call returns log p(y_j|z,x), float32 [B, K, M].

  Call arguments:
    tokens: The encoder's input dict of join(x, z), int32 [B, K, L].
    positions: Masked positions of the joint sequence, int32 [B, M].
    gold_ids: Original tokens at these positions, int32 [B, M].
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    masked_lm: tf_keras.layers.Layer,
    lean: Optional[Callable[..., dict[str, tf.Tensor]]] = None,
    lean_head: Optional[Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.encoder = encoder
    self.masked_lm = masked_lm
    self.lean = lean
    self.lean_head = lean_head

  def call(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor,
    gold_ids: tf.Tensor,
    training: bool = False,
  ):
    num_candidates = tokens['input_word_ids'].shape[1]
    gold = tf.repeat(gold_ids[:, None, :], num_candidates, axis=1)
    if training and self.lean is not None and self.lean_head is not None:
      states = self._lean_states(tokens, positions)
      flat = tf.reshape(gold, [-1, gold.shape[2]])
      return tf.reshape(self.lean_head(states, flat), [-1, *gold.shape[1:]])
    logits = self.logits(tokens, positions, training)  # [B, K, M, V]
    return -tf.nn.sparse_softmax_cross_entropy_with_logits(gold, logits)

  def logits(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor,
    training: bool = False,
  ) -> tf.Tensor:
    """Returns the logits at `positions`, float32 [B, K, M, V]."""
    num_candidates = tokens['input_word_ids'].shape[1]
    repeated = tf.repeat(positions, num_candidates, axis=0)  # [B * K, M]
    if training and self.lean is not None:
      states = self._lean_states(tokens, positions)
      # The states are only at the masked positions.
      repeated = tf.zeros_like(repeated) + tf.range(positions.shape[1])
    else:
      encoded = self.encoder(_flat(tokens), training=training)
      states = encoded['sequence_output']
    logits = self.masked_lm(states, repeated)  # [B * K, M, V]
    shape = [-1, num_candidates, positions.shape[1], logits.shape[-1]]
    return tf.cast(tf.reshape(logits, shape), tf.float32)

  def _lean_states(self, tokens, positions):
    """Returns the states at `positions` in training, [B * K, M, H]."""
    repeated = tf.repeat(positions, tokens['input_word_ids'].shape[1], axis=0)
    return self.lean(_flat(tokens), repeated, True)['sequence_output']


def _flat(tokens):
  """Reshapes [B, K, L] to [B * K, L]."""
  return {
    name: tf.reshape(value, [-1, value.shape[-1]])
    for name, value in tokens.items()
  }
