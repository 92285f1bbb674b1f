"""BERT for embedding many texts: the encoder's function, sooner.

  a BERT encoder's variables, packed tokens -> [this file] -> its outputs

The same numbers as `bert.build_encoder`'s layer without dropout (Devlin et al.
2019, https://arxiv.org/abs/1810.04805), from the same variables. What is gained
over Model Garden's layers: any computation dtype, whatever policy the layers
were built with; one matmul for query, key and value; keys transposed once, and
softmax divided after the product with the values, which XLA's CPU matmuls take
better. Meant to be compiled by XLA, which fuses the rest.
"""

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.modeling import bert
from realm_tf.modeling import weights

_MASKED = -1e9  # Added to what must not be attended to.
_EPSILON = 1e-12


class InferenceEncoder:
  """Computes what an encoder computes; reads its current variables.

  Args:
    encoder: From `bert.build_encoder`.
    config: Of the encoder.
    cls_only: Whether the last layer computes [CLS] alone.
    dtype: Of matmuls: 'float32' or 'bfloat16'. Layer norm, softmax and sums of
      layers are float32.

  Call arguments:
    tokens: 'input_word_ids', 'input_mask' and 'input_type_ids', int32 [B, L] of
      static shape.

  Returns:
    'sequence_output', float32 [B, L, H], or [B, 1, H] if `cls_only`, and
    'pooled_output', float32 [B, H].
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    config: config_lib.BertConfig,
    cls_only: bool,
    dtype: str,
  ):
    prefix = f'{encoder.name}/'
    self._variables = {
      name.removeprefix(prefix): variable
      for name, variable in weights.by_name(encoder.variables).items()
    }
    self._config = config
    self._cls_only = cls_only
    self._dtype = tf.as_dtype(dtype)
    self._activation = bert.activation(config)

  def __call__(self, tokens: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    states = self._embed(tokens)  # [B, L, H]
    bias = tf.cast(1 - tokens['input_mask'], tf.float32) * _MASKED
    last = self._config.num_layers - 1
    for i in range(last + 1):
      states = self._layer(
        f'transformer/layer_{i}/', states, bias, self._cls_only and i == last
      )
    pooled = tf.tanh(self._dense('pooler_transform', states[:, 0]))
    return {'sequence_output': states, 'pooled_output': pooled}

  def _embed(self, tokens):
    length = tokens['input_word_ids'].shape[1]
    words, positions, types = (
      self._variables[f'{name}/embeddings']
      for name in ('word_embeddings', 'position_embedding', 'type_embeddings')
    )
    sums = (
      tf.gather(words, tokens['input_word_ids'])
      + positions[:length]
      + tf.gather(types, tokens['input_type_ids'])
    )
    return self._layer_norm('embeddings/layer_norm', sums)

  def _layer(self, name, states, bias, cls_only):
    """Returns [B, L, H], or [B, 1, H] if `cls_only`."""
    attended = self._attend(f'{name}self_attention/', states, bias, cls_only)
    if cls_only:
      states = states[:, :1]
    states = self._layer_norm(
      f'{name}self_attention_layer_norm', states + attended
    )
    inner = self._activation(self._dense(f'{name}intermediate', states))
    return self._layer_norm(
      f'{name}output_layer_norm', states + self._dense(f'{name}output', inner)
    )

  def _attend(self, name, states, bias, cls_only):
    """Returns self-attention's output, [B, L, H], or [B, 1, H]."""
    if cls_only:
      query = self._project(name, ['query'], states[:, :1])
      key, value = tf.split(
        self._project(name, ['key', 'value'], states), 2, axis=-1
      )
    else:
      query, key, value = tf.split(
        self._project(name, ['query', 'key', 'value'], states), 3, axis=-1
      )
    query, key, value = map(self._heads, (query, key, value))  # [B, L, A, H/A]
    query *= query.shape[-1] ** -0.5
    scores = self._matmul(
      tf.transpose(query, [0, 2, 1, 3]), tf.transpose(key, [0, 2, 3, 1])
    )  # [B, A, L, L]
    scores += bias[:, None, None, :]
    scores -= tf.reduce_max(scores, axis=-1, keepdims=True)
    weight = tf.exp(scores)
    mixed = self._matmul(weight, tf.transpose(value, [0, 2, 1, 3]))
    mixed /= tf.reduce_sum(weight, axis=-1, keepdims=True)  # [B, A, L, H/A]
    mixed = tf.transpose(mixed, [0, 2, 1, 3])
    joined = tf.reshape(mixed, [*mixed.shape[:2], states.shape[-1]])
    return self._dense(f'{name}attention_output', joined)

  def _heads(self, projected):
    batch, length, width = projected.shape
    heads = self._config.num_heads
    return tf.reshape(projected, [batch, length, heads, width // heads])

  def _project(self, name, parts, states):
    """Returns the projections side by side, [B, L, H * len(parts)]."""
    width = states.shape[-1]

    def joined(kind, shape):
      variables = [self._variables[f'{name}{part}/{kind}'] for part in parts]
      return tf.concat([tf.reshape(v, shape) for v in variables], axis=-1)

    kernel, bias = joined('kernel', [width, width]), joined('bias', [width])
    return self._matmul(states, kernel) + bias

  def _dense(self, name, states):
    kernel = tf.reshape(
      self._variables[f'{name}/kernel'], [states.shape[-1], -1]
    )  # Attention's output kernel is [A, H/A, H].
    return self._matmul(states, kernel) + self._variables[f'{name}/bias']

  def _matmul(self, left, right):
    """Returns float32 [..., M, N] of [..., M, K] and [..., K, N] or [K, N]."""
    left, right = (tf.cast(x, self._dtype) for x in (left, right))
    if right.shape.rank == 2:
      flat = tf.reshape(left, [-1, left.shape[-1]])
      product = tf.reshape(flat @ right, [*left.shape[:-1], right.shape[-1]])
    else:
      product = left @ right
    return tf.cast(product, tf.float32)

  def _layer_norm(self, name, states):
    centred = states - tf.reduce_mean(states, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    scale, offset = (self._variables[f'{name}/{k}'] for k in ('gamma', 'beta'))
    return centred * tf.math.rsqrt(variance + _EPSILON) * scale + offset
