"""Initializes attention near the identity: mimetic initialization.

In trained transformers, W_Q W_K^T and W_V W_O of a head are near a multiple of
the identity: a token attends to equal tokens and copies their states. Trockman
and Kolter 2023 (https://arxiv.org/abs/2305.09828) start from such weights. A
reader needs this to copy a word from a block; small random weights learn it
only after thousands of steps.
"""

import numpy as np
import tensorflow as tf
import tf_keras

# Scale of the identity in W_Q and W_K: the attention logit of an equal token is
# then a few units above the logits of other tokens.
_QUERY_KEY_SCALE = 0.5


def make_encoder_mimetic(encoder: tf_keras.layers.Layer):
  """Adds the identity to attention, and scales word vectors to a mean length 1.

  At this length, with `make_head_mimetic`, the logit of a copied wordpiece
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


def make_head_mimetic(head: tf_keras.layers.Layer):
  """Adds the identity to the transform of a masked-language-model head."""
  for variable in head.trainable_weights:
    if variable.name.endswith('transform/dense/kernel:0'):
      _add_identity(variable, variable.shape[0], 1.0)


def _add_identity(variable, size, scale):
  identity = np.reshape(np.eye(size), variable.shape)
  variable.assign_add(tf.cast(scale * identity, variable.dtype))
