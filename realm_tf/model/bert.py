"""Builds BERT and its masked-language-model head from official.nlp."""

from collections.abc import Callable, Sequence

import numpy as np
from official.nlp.modeling import layers
from official.nlp.modeling import networks
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib

# Model Garden's value, for all five forward passes.
LAYER_NORM_EPSILON = 1e-12
# Scale of the identity in W_Q and W_K: the attention logit of an equal token is
# then a few units above the logits of other tokens.
_QUERY_KEY_SCALE = 0.5


def build_encoder(
  config: config_lib.BertConfig, name: str = 'bert', cls_only: bool = False
) -> tf_keras.layers.Layer:
  """Builds a BERT encoder with random weights.

  The layer maps {'input_word_ids', 'input_mask', 'input_type_ids'}, each int32
  [B, L], to 'sequence_output', float [B, L, H], and 'pooled_output', [B, H].
  With `cls_only`, 'sequence_output' has only [CLS], [B, 1, H].
  """
  if not config.vocab_size:
    raise ValueError('`vocab_size` must be set before BERT is built. Found 0.')
  encoder = networks.BertEncoderV2(
    vocab_size=config.vocab_size,
    hidden_size=config.hidden_size,
    num_layers=config.num_layers,
    num_attention_heads=config.num_heads,
    max_sequence_length=config.max_positions,
    type_vocab_size=2,
    inner_dim=config.intermediate_size,
    inner_activation=activation(config),
    output_dropout=config.dropout_rate,
    attention_dropout=config.attention_dropout_rate,
    initializer=tf_keras.initializers.TruncatedNormal(
      stddev=config.initializer_range
    ),
    output_range=1 if cls_only else None,
    name=name,
  )
  encoder(example_tokens((1, 4)))  # Creates the weights.
  if config.initializer == 'mimetic':
    _make_mimetic(encoder)
  return encoder


def build_masked_lm_head(
  encoder: tf_keras.layers.Layer, config: config_lib.BertConfig
) -> tf_keras.layers.Layer:
  """Builds the head of p(y_j|z,x), tied to the encoder's word embeddings.

  The layer maps (sequence_output [B, L, H], positions int32 [B, M]) to the
  logits at these positions, float [B, M, V].
  """
  table = encoder.get_embedding_table()
  head = layers.MaskedLM(
    embedding_table=table,
    activation=activation(config),
    initializer=tf_keras.initializers.TruncatedNormal(
      stddev=config.initializer_range
    ),
    output='logits',
    name='masked_lm',
  )
  head(tf.zeros([1, 4, table.shape[1]]), tf.zeros([1, 1], tf.int32))
  if config.initializer == 'mimetic':
    # Adds the identity to the head's transform.
    for variable in head.trainable_weights:
      if variable.name.endswith('transform/dense/kernel:0'):
        _add_identity(variable, variable.shape[0], 1.0)
  return head


def example_tokens(shape: Sequence[int]) -> dict[str, tf.Tensor]:
  """Returns the encoder's input dict, filled with zeros."""
  ids = tf.zeros(shape, tf.int32)
  return {'input_word_ids': ids, 'input_mask': ids, 'input_type_ids': ids}


def activation(
  config: config_lib.BertConfig,
) -> Callable[[tf.Tensor], tf.Tensor]:
  """Returns the encoder's activation function."""
  if config.activation == 'relu':
    return tf.nn.relu
  return _tanh_gelu if config.activation == 'gelu_tanh' else tf.nn.gelu


def _tanh_gelu(x):
  return tf.nn.gelu(x, approximate=True)


def size(tensor: tf.Tensor, axis: int) -> int | tf.Tensor:
  """Returns the size of an axis: an int if it is static, as XLA requires."""
  known = tensor.shape[axis]
  return tf.shape(tensor)[axis] if known is None else known


def _make_mimetic(encoder: tf_keras.layers.Layer) -> None:
  """Adds the identity to attention, and scales word vectors to a mean length 1.

  In trained transformers, W_Q W_K^T and W_V W_O of a head are near a multiple
  of the identity: a token attends to equal tokens and copies their states.
  Trockman and Kolter 2023 (https://arxiv.org/abs/2305.09828) start from such
  weights. A reader needs this to copy a word from a block; small random weights
  learn it only after thousands of steps.

  At this length, with a mimetic head, the logit of a copied wordpiece
  exceeds the noise of the vocabulary from the first step.
  """
  scales = {
    'self_attention/query/kernel:0': _QUERY_KEY_SCALE,
    'self_attention/key/kernel:0': _QUERY_KEY_SCALE,
    'self_attention/value/kernel:0': 1.0,
    'self_attention/attention_output/kernel:0': 1.0,
  }
  table = encoder.get_embedding_table()
  for variable in encoder.trainable_weights:
    for suffix, scale in scales.items():
      if variable.name.endswith(suffix):
        _add_identity(variable, table.shape[1], scale)
  lengths = tf.norm(table, axis=1, keepdims=True)
  table.assign(table / tf.reduce_mean(lengths))


def _add_identity(variable, size, scale):
  identity = np.reshape(np.eye(size), variable.shape)
  variable.assign_add(tf.cast(scale * identity, variable.dtype))
