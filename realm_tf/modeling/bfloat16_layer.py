"""Computes a layer of BERT in bfloat16 on a CPU: products and islands.

The result equals `lean_encoder`'s layer. States between islands are bfloat16.
"""

from collections.abc import Mapping
from typing import Optional

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import bert
from realm_tf.modeling import islands


class Bfloat16Layer:
  """One layer of an encoder.

  Args:
    variables: The layer's variables, by their names inside the layer.

  Call arguments:
    states: bfloat16 [B, L, H].
    bias: Added to the scores of each position, float32 [B, L].
    seeds: Dropout seeds of probabilities, attention's output and the layer's
      output; None drops nothing.
    positions: Positions to compute, int32 [B, M]; by default all L.
  """

  def __init__(
    self, variables: Mapping[str, tf.Variable], config: config_lib.BertConfig
  ):
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
    mixed = islands.attend(
      query, key, value, bias, config.attention_dropout_rate, of_scores
    )
    joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), tf.shape(states))
    # Model Garden's dropout of attention's output has attention's rate.
    states = self._norm(
      'self_attention_layer_norm',
      states,
      self._dense('self_attention/attention_output', joined),
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
    width = states.shape[-1]
    kernels, biases = (
      [
        tf.reshape(self._get(f'self_attention/{part}/{kind}'), shape)
        for part in scales
      ]
      for kind, shape in (('kernel', [width, width]), ('bias', [width]))
    )
    split = islands.split_heads(self._config.num_heads, tuple(scales.values()))
    product = _matmul(states, tf.concat(kernels, axis=1))
    return split(product, tf.concat(biases, axis=0))

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
    # Attention's output kernel is [A, H/A, H].
    kernel = tf.reshape(self._get(f'{name}/kernel'), [inputs.shape[-1], -1])
    return _matmul(inputs, kernel), self._get(f'{name}/bias')

  def _get(self, name):
    return tf.convert_to_tensor(self._variables[name])


def _matmul(states, kernel):
  flat = tf.reshape(states, [-1, states.shape[-1]])
  shape = [-1, bert.size(states, 1), kernel.shape[-1]]
  return tf.reshape(flat @ tf.cast(kernel, states.dtype), shape)
