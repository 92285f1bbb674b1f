"""A faster forward and backward pass over a Model Garden BERT's variables.

Outputs, gradients and places of dropout equal Model Garden's.
docs/performance.md compares the five forward passes.
"""

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.model import bert
from realm_tf.model import dropout
from realm_tf.model import islands_layer
from realm_tf.model import layer_loop
from realm_tf.model import precision
from realm_tf.model import weights

_WIDE = 256  # States, whose products are faster in TensorFlow than in XLA.


def prefers_xla(dtype: str) -> bool:
  """Returns whether XLA makes the encoder faster on this machine.

  On a CPU, TensorFlow's kernels use the instructions for bfloat16 (AMX,
  AVX512_BF16); XLA's kernels convert to float32.
  """
  return dtype == 'float32' or bool(tf.config.list_physical_devices('GPU'))


def prefers_islands(dtype: str, width: int) -> bool:
  """Returns whether islands make training faster on this machine.

  On a CPU they do in bfloat16, and in float32 where products of wide states
  take most of the time (docs/performance.md). TPUs compile the whole step.
  """
  if precision.has_tpu() or tf.config.list_physical_devices('GPU'):
    return False
  return dtype == 'bfloat16' or width >= _WIDE


def prefers_loop(dtype: str) -> bool:
  """Returns whether layers of known sizes are a loop: a smaller program."""
  has_memory = precision.has_tpu() and precision.has_fast_memory()
  return dtype == 'bfloat16' and has_memory  # For scores, computed twice.


class LeanEncoder:
  """Computes an encoder's function with its current variables.

  Args:
    dtype: Dtype of matmuls and of values between them, 'float32' or 'bfloat16'.
      Layer norm, activations and sums of layers are float32.
    recompute: Whether the backward pass recomputes a layer's activations
      instead of storing them.
    islands: Whether to use the layers of `islands_layer`.

  Call arguments:
    tokens: The encoder's input dict, int32 [B, L].
    positions: Positions of the last layer to compute, int32 [B, M]; by default
      all. With `positions`, 'sequence_output' is float32 [B, M, H].
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    config: config_lib.BertConfig,
    dtype: str = 'float32',
    recompute: bool = False,
    islands: bool = False,
  ):
    self._variables = weights.by_local_name(encoder)
    self._config = config
    self._dtype = tf.as_dtype(dtype)
    self._recompute = recompute
    self._activation = bert.activation(config)
    self._islands = islands
    self._loops = prefers_loop(dtype)

  def __call__(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor | None = None,
    training: bool = False,
  ) -> dict[str, tf.Tensor]:
    states = self._embed(tokens)  # [B, L, H]
    if training:
      states = dropout.drop(
        states, self._config.dropout_rate, dropout.draw_seed()
      )
    bias = tf.cast(1 - tokens['input_mask'], tf.float32) * interfaces.NO_SCORE
    last = self._config.num_layers - 1
    # Of each layer's probabilities, attention's output and its own; drawn
    # outside the layers, which may be computed twice. None drops nothing.
    seeds = [
      [dropout.draw_seed() if training else None for _ in range(3)]
      for _ in range(last + 1)
    ]
    loops = self._loops and states.shape.is_fully_defined()
    looped = last if loops else 0
    if looped:
      states = self._loop(states, bias, seeds[:looped])
    make = self._islands_layer if self._islands or loops else self._whole_layer
    for i in range(looped, last + 1):
      name = f'transformer/layer_{i}/'
      layer = make(name, bias, seeds[i], positions if i == last else None)
      states = (tf.recompute_grad(layer) if self._recompute else layer)(states)
    states = precision.to_float(states)
    pooled = tf.tanh(
      precision.to_float(self._dense('pooler_transform', states[:, 0]))
    )
    return {'sequence_output': states, 'pooled_output': pooled}

  def _embed(self, tokens):
    length = bert.size(tokens['input_word_ids'], 1)
    words, positions, types = (
      self._variables[f'{name}/embeddings']
      for name in ('word_embeddings', 'position_embedding', 'type_embeddings')
    )
    # Faster than a gather, whose gradient scatters row by row.
    one_hot = tf.one_hot(tokens['input_type_ids'], types.shape[0])
    sums = (
      tf.gather(words, tokens['input_word_ids'])
      + positions[:length]
      + one_hot @ types
    )
    return self._layer_norm('embeddings/layer_norm', sums)

  def _islands_layer(self, name, bias, seeds, positions):
    """Returns a function from [B, L, H] to [B, L, H], or to [B, M, H]."""
    products = layer_loop.KeptProducts() if self._loops else None
    layer = islands_layer.IslandsLayer(
      self._of_layer(name), self._config, products
    )
    return lambda states: layer(
      tf.cast(states, self._dtype), bias, seeds, positions
    )

  def _of_layer(self, name):
    return {
      key.removeprefix(name): variable
      for key, variable in self._variables.items()
      if key.startswith(name)
    }

  def _loop(self, states, bias, seeds):
    """Returns the states after as many layers as there are seeds."""
    layers = [
      self._of_layer(f'transformer/layer_{i}/') for i in range(len(seeds))
    ]
    names = list(layers[0])
    stacked = [
      tf.stack(
        [
          tf.cast(
            each[name], self._dtype if name.endswith('kernel') else tf.float32
          )
          for each in layers
        ]
      )
      for name in names
    ]
    is_training = seeds[0][0] is not None

    def layer(weights, states, seeds, kept):
      parts = tf.unstack(seeds) if is_training else [None] * 3
      made = islands_layer.IslandsLayer(
        dict(zip(names, weights)), self._config, kept
      )
      return made(states, bias, parts)

    return layer_loop.run(
      layer,
      stacked,
      tf.cast(states, self._dtype),
      tf.stack([tf.stack(each) for each in seeds]) if is_training else None,
      [] if self._recompute else layer_loop.product_specs(states, self._config),
    )

  def _whole_layer(self, name, bias, seeds, positions):
    """Returns the same as `_islands_layer`."""
    config = self._config
    of_scores, of_attended, of_output = seeds

    def layer(states):
      attended = precision.to_float(
        self._attend(
          f'{name}self_attention/', states, bias, of_scores, positions
        )
      )
      if positions is not None:
        states = tf.gather(states, positions, batch_dims=1)
      # Model Garden's dropout of attention's output has attention's rate.
      attended = _drop(attended, config.attention_dropout_rate, of_attended)
      states = self._layer_norm(
        f'{name}self_attention_layer_norm', states + attended
      )
      inner = self._activation(
        precision.to_float(self._dense(f'{name}intermediate', states))
      )
      output = precision.to_float(self._dense(f'{name}output', inner))
      output = _drop(output, config.dropout_rate, of_output)
      return self._layer_norm(f'{name}output_layer_norm', states + output)

    return layer

  def _attend(self, name, states, bias, seed, positions):
    """Returns self-attention's output, [B, L, H], or [B, M, H]."""
    if positions is None:
      query, key, value = tf.split(
        self._project(name, ['query', 'key', 'value'], states), 3, axis=-1
      )
    else:
      queried = tf.gather(states, positions, batch_dims=1)
      query = self._project(name, ['query'], queried)
      key, value = tf.split(
        self._project(name, ['key', 'value'], states), 2, axis=-1
      )
    query, key, value = map(self._heads, (query, key, value))  # [B, L, A, H/A]
    query *= query.shape[-1] ** -0.5
    scores = self._matmul(
      tf.transpose(query, [0, 2, 1, 3]), tf.transpose(key, [0, 2, 3, 1])
    )  # [B, A, L, L]
    mixed = self._mix(
      precision.to_float(scores) + bias[:, None, None, :],
      tf.transpose(value, [0, 2, 1, 3]),
      seed,
    )  # [B, A, L, H/A]
    mixed = tf.transpose(mixed, [0, 2, 1, 3])
    joined = tf.reshape(mixed, [-1, bert.size(mixed, 1), states.shape[-1]])
    return self._dense(f'{name}attention_output', joined)

  def _mix(self, scores, value, seed):
    """Returns softmax(scores) @ value."""
    rate = self._config.attention_dropout_rate
    if self._dtype != tf.float32:  # One kernel, and it stores half the bits.
      return self._matmul(_drop(tf.nn.softmax(scores), rate, seed), value)
    scores -= tf.stop_gradient(tf.reduce_max(scores, axis=-1, keepdims=True))
    weight = tf.exp(scores)
    mixed = self._matmul(_drop(weight, rate, seed), value)
    return mixed / tf.reduce_sum(weight, axis=-1, keepdims=True)

  def _heads(self, projected):
    length, width = bert.size(projected, 1), projected.shape[2]
    heads = self._config.num_heads
    return tf.reshape(projected, [-1, length, heads, width // heads])

  def _project(self, name, parts, states):
    """Returns the concatenated projections, [B, L, H * len(parts)]."""
    width = states.shape[-1]

    def joined(kind, shape):
      variables = [self._variables[f'{name}{part}/{kind}'] for part in parts]
      return tf.concat([tf.reshape(v, shape) for v in variables], axis=-1)

    kernel, bias = joined('kernel', [width, width]), joined('bias', [width])
    return self._matmul(states, kernel) + tf.cast(bias, self._dtype)

  def _dense(self, name, states):
    kernel = tf.reshape(
      self._variables[f'{name}/kernel'], [states.shape[-1], -1]
    )  # Attention's output kernel is [A, H/A, H].
    bias = tf.cast(self._variables[f'{name}/bias'], self._dtype)
    return self._matmul(states, kernel) + bias

  def _matmul(self, left, right):
    """Multiplies [..., M, K] by [..., K, N] or [K, N]."""
    left, right = (tf.cast(x, self._dtype) for x in (left, right))
    if right.shape.rank > 2:
      return left @ right
    flat = tf.reshape(left, [-1, left.shape[-1]])
    inner = [bert.size(left, axis) for axis in range(1, left.shape.rank - 1)]
    shape = [-1, *inner, right.shape[-1]]
    return tf.reshape(flat @ right, shape)

  def _layer_norm(self, name, states):
    centred = states - tf.reduce_mean(states, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    scale, offset = (self._variables[f'{name}/{k}'] for k in ('gamma', 'beta'))
    return (
      centred * tf.math.rsqrt(variance + bert.LAYER_NORM_EPSILON) * scale
      + offset
    )


def _drop(values, rate, seed):
  return values if seed is None else dropout.drop(values, rate, seed)
