"""Computes a layer of BERT in bfloat16 on a CPU: products and islands.

The result equals `lean_encoder`'s layer. States between islands are bfloat16.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import bert
from realm_tf.modeling import islands

_KINDS = ('kernel', 'bias')


class Part(NamedTuple):
  """A projection for attention: query, key or value."""

  kernel: tf.Tensor  # [H, A, H/A]
  bias: tf.Tensor  # float32 [A, H/A]
  scale: float


class Products:
  """Computes a layer's products, on a CPU."""

  def multiply(self, states: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Returns states [B, L, H] @ kernel [H, C]."""
    flat = tf.reshape(states, [-1, states.shape[-1]])
    shape = [-1, bert.size(states, 1), kernel.shape[-1]]
    return tf.reshape(flat @ tf.cast(kernel, states.dtype), shape)

  def split(
    self, states: tf.Tensor, parts: Sequence[Part]
  ) -> Sequence[tf.Tensor]:
    """Returns scale * (states @ kernel + bias) of each part, [B, A, L, H/A]."""
    width = states.shape[-1]
    kernels = [tf.reshape(part.kernel, [width, width]) for part in parts]
    biases = [tf.reshape(part.bias, [width]) for part in parts]
    split = islands.split_heads(
      parts[0].kernel.shape[1], tuple(part.scale for part in parts)
    )
    product = self.multiply(states, tf.concat(kernels, axis=1))
    return split(product, tf.concat(biases, axis=0))

  def attend(
    self,
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    bias: tf.Tensor,
    rate: float,
    seed: Optional[tf.Tensor],
  ) -> tf.Tensor:
    """Returns the result of `islands.attend`, [B, A, M, H/A]."""
    return islands.attend(query, key, value, bias, rate, seed)

  def join(self, mixed: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Returns all heads of mixed [B, A, M, H/A] @ kernel [A, H/A, H]."""
    width = kernel.shape[-1]
    joined = tf.transpose(mixed, [0, 2, 1, 3])
    joined = tf.reshape(joined, [-1, bert.size(joined, 1), width])
    return self.multiply(joined, tf.reshape(kernel, [width, width]))


class Bfloat16Layer:
  """One layer of an encoder.

  Args:
    variables: The layer's variables or their values, by their names inside the
      layer.

  Call arguments:
    states: bfloat16 [B, L, H].
    bias: Added to the scores of each position, float32 [B, L].
    seeds: Dropout seeds of probabilities, attention's output and the layer's
      output; None drops nothing.
    positions: Positions to compute, int32 [B, M]; by default all L.
  """

  def __init__(
    self,
    variables: Mapping[str, tf.Variable | tf.Tensor],
    config: config_lib.BertConfig,
    products: Optional[Products] = None,
  ):
    self._products = products or Products()
    self._variables = variables
    self._config = config

  def __call__(
    self,
    states: tf.Tensor,
    bias: tf.Tensor,
    seeds: tuple[Optional[tf.Tensor], ...],
    positions: Optional[tf.Tensor] = None,
  ) -> tf.Tensor:
    config = self._config
    of_scores, of_attended, of_output = seeds
    query, key, value, states = self._project(states, positions)
    mixed = self._products.attend(
      query, key, value, bias, config.attention_dropout_rate, of_scores
    )
    attended = self._products.join(
      mixed, self._get('self_attention/attention_output/kernel')
    )
    # Model Garden's dropout of attention's output has attention's rate.
    states = self._norm(
      'self_attention_layer_norm',
      states,
      (attended, self._get('self_attention/attention_output/bias')),
      (config.attention_dropout_rate, of_attended),
    )
    activate = islands.activated(bert.activation(config))
    inner = activate(*self._dense('intermediate', states))
    return self._norm(
      'output_layer_norm',
      states,
      self._dense('output', inner),
      (config.dropout_rate, of_output),
    )

  def _project(self, states, positions):
    """Returns query, key, value, and the states at `positions`."""
    width = states.shape[-1]
    scale = (width // self._config.num_heads) ** -0.5
    if positions is None:
      parts = self._split(states, query=scale, key=1.0, value=1.0)
      return *parts, states
    key, value = self._split(states, key=1.0, value=1.0)
    states = tf.gather(states, positions, batch_dims=1)
    (query,) = self._split(states, query=scale)
    return query, key, value, states

  def _split(self, states, **scales):
    return self._products.split(
      states,
      [
        Part(
          *(self._get(f'self_attention/{part}/{kind}') for kind in _KINDS),
          scale,
        )
        for part, scale in scales.items()
      ],
    )

  def _norm(self, name, states, change, drop):
    """Returns layer_norm(states + drop(product + bias))."""
    rate, seed = drop
    return islands.residual_norm(rate, bert.LAYER_NORM_EPSILON)(
      *change,
      states,
      *(self._get(f'{name}/{kind}') for kind in ('gamma', 'beta')),
      *([] if seed is None else [seed]),
    )

  def _dense(self, name, inputs):
    """Returns inputs @ kernel, and the bias to add."""
    kernel, bias = (self._get(f'{name}/{kind}') for kind in _KINDS)
    return self._products.multiply(inputs, kernel), bias

  def _get(self, name):
    return tf.convert_to_tensor(self._variables[name])
