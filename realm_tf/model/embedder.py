"""Embeds queries and blocks as vectors for inner-product search."""

from collections.abc import Callable

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib


class Embedder(tf_keras.layers.Layer):
  """Maps text to the search space: Embed(s), Section 3.2 of Guu et al. 2020.

  The head is the paper's W BERT_CLS(s); the TF1 release's
  LayerNorm(Dense(tanh(Dense(BERT_CLS(s))))) with dropout; or, for imported
  encoders, mean, maximum or first of the wordpieces' states, with an optional
  Dense layer.

  A call maps the encoder's input dict, int32 [..., L], to embeddings, float32
  [..., D]. In training, the `LeanEncoder` `lean` replaces the encoder.
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    config: config_lib.EmbedderConfig,
    lean: Callable[..., dict[str, tf.Tensor]] | None = None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.encoder = encoder
    self.config = config
    self.lean = lean
    if config.has_projection:
      is_tanh = config.dense == 'tanh' and config.head not in ('cls', 'pooled')
      self.projection = tf_keras.layers.Dense(
        config.embedding_size,
        activation='tanh' if is_tanh else None,
        use_bias=config.head != 'cls',
        kernel_initializer=tf_keras.initializers.TruncatedNormal(stddev=0.02),
        name='projection',
        dtype='float32',
      )
    if config.head == 'pooled':
      self.layer_norm = tf_keras.layers.LayerNormalization(
        epsilon=config.layer_norm_epsilon, name='layer_norm', dtype='float32'
      )
      self.dropout = tf_keras.layers.Dropout(config.dropout_rate)

  def call(self, tokens: dict[str, tf.Tensor], training: bool = False):
    leading = tf.shape(tokens['input_word_ids'])[:-1]
    flat = {
      name: tf.reshape(value, [-1, value.shape[-1] or tf.shape(value)[-1]])
      for name, value in tokens.items()
    }
    if training and self.lean is not None:
      outputs = self.lean(flat, self.read_positions(flat), training)
    else:
      outputs = self.encoder(flat, training=training)
    embeddings = self.from_outputs(outputs, flat['input_mask'], training)
    shape = tf.concat([leading, [embeddings.shape[-1]]], axis=0)
    return tf.reshape(embeddings, shape)  # [..., D]

  def read_positions(self, tokens: dict[str, tf.Tensor]) -> tf.Tensor | None:
    """Returns the head's input positions, int32 [B, 1]; None for all."""
    if self.config.reads_all:
      return None
    return tf.zeros_like(tokens['input_word_ids'][:, :1])

  def from_outputs(
    self, outputs: dict[str, tf.Tensor], mask: tf.Tensor, training: bool = False
  ) -> tf.Tensor:
    """Returns embeddings of encoded texts, float32 [B, D]."""
    config = self.config
    embeddings = _pool(config.head, outputs, mask)
    if config.has_projection:
      embeddings = self.projection(embeddings)
    if config.head == 'pooled':
      embeddings = self.dropout(self.layer_norm(embeddings), training=training)
    if config.normalize:
      embeddings = tf.math.l2_normalize(embeddings, axis=-1)
    return embeddings


def _pool(head, outputs, mask):
  """Returns the encoder's pooled outputs, float32 [B, H]."""
  if head == 'pooled':
    return tf.cast(outputs['pooled_output'], tf.float32)
  states = tf.cast(outputs['sequence_output'], tf.float32)
  if head == 'mean':
    weights = tf.cast(mask, tf.float32)[:, :, None]  # [B, L, 1]
    count = tf.maximum(tf.reduce_sum(weights, axis=1), 1.0)
    return tf.reduce_sum(states * weights, axis=1) / count
  if head == 'max':
    states = tf.where(mask[:, :, None] > 0, states, states.dtype.min)
    return tf.reduce_max(states, axis=1)
  return states[:, 0, :]


def insert_prompt(
  tokens: dict[str, tf.Tensor], prompt: str
) -> dict[str, tf.Tensor]:
  """Inserts P wordpiece ids, separated by spaces, after [CLS].

  For encoders trained with a prompt: [CLS] x [SEP] -> [CLS] query : x [SEP].
  The encoder's input dict, int32 [..., L], becomes int32 [..., L + P].
  """
  if not prompt:
    return tokens
  ids = [int(part) for part in prompt.split(' ')]
  inserted = {
    'input_word_ids': ids,
    'input_mask': [1] * len(ids),
    'input_type_ids': [0] * len(ids),
  }
  return {
    name: _behind_first(value, inserted[name]) for name, value in tokens.items()
  }


def _behind_first(values, inserted):
  first, rest = values[..., :1], values[..., 1:]
  row = tf.zeros_like(first) + tf.constant(inserted, values.dtype)
  return tf.concat([first, row, rest], axis=-1)
