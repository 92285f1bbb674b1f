"""Makes fresh weights look like trained ones.

In trained transformers the product of a head's query and key matrices, and that
of its value and output matrices, are near a multiple of the identity: a token
attends to its like and passes on what it is. Trockman and Kolter 2023
(https://arxiv.org/abs/2305.09828) start from there. A reader needs just that to
copy a word from a block, and from small random weights it takes thousands of
steps to find it.
"""

import numpy as np
import tensorflow as tf
import tf_keras

# Scale of the identity in W_Q and W_K: a token's logit for its like is then a
# few units above that for any other token.
_QUERY_KEY_SCALE = 0.5


def make_encoder_mimetic(encoder: tf_keras.layers.Layer):
  """Adds the identity to attention, and gives word vectors a length near 1.

  At that length, and with the head below, the logit of a copied wordpiece
  stands out of the vocabulary's noise from the first step.
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
