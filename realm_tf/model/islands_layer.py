"""Computes BERT's layer and head on a CPU: products and islands.

The results equal `lean_encoder`'s layer, and `bert.build_masked_lm_head`'s with
a cross entropy. States between islands have the products' dtype.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import bert
from realm_tf.model import islands

_KINDS = ('kernel', 'bias')
_PAD_ID = 0
_ROWS = 64  # Rows are filled up to multiples: each number is compiled.


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

  def split_heads(
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

  attend: Callable[..., tf.Tensor] = staticmethod(islands.attend)

  def join_heads(self, mixed: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Returns all heads of mixed [B, A, M, H/A] @ kernel [A, H/A, H]."""
    width = kernel.shape[-1]
    joined = tf.transpose(mixed, [0, 2, 1, 3])
    joined = tf.reshape(joined, [-1, bert.size(joined, 1), width])
    return self.multiply(joined, tf.reshape(kernel, [width, width]))


class IslandsLayer:
  """One layer of an encoder.

  Args:
    variables: The layer's variables or their values, by their names inside the
      layer.

  Call arguments:
    states: [B, L, H], of the products' dtype.
    bias: Added to the scores of each position, float32 [B, L].
    seeds: Dropout seeds of probabilities, attention's output and the layer's
      output; None drops nothing.
    positions: Positions to compute, int32 [B, M]; by default all L.
  """

  def __init__(
    self,
    variables: Mapping[str, tf.Variable | tf.Tensor],
    config: config_lib.BertConfig,
    products: Products | None = None,
  ):
    self._products = products or Products()
    self._variables = variables
    self._config = config

  def __call__(
    self,
    states: tf.Tensor,
    bias: tf.Tensor,
    seeds: tuple[tf.Tensor | None, ...],
    positions: tf.Tensor | None = None,
  ) -> tf.Tensor:
    config = self._config
    of_scores, of_attended, of_output = seeds
    query, key, value, states = self._project(states, positions)
    mixed = self._products.attend(
      query, key, value, bias, config.attention_dropout_rate, of_scores
    )
    attended = self._products.join_heads(
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
    return self._products.split_heads(
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


class IslandsHead:
  """Computes log probabilities with a head's current variables, float32 [N, M].

  TensorFlow's softmax kernel is several times as fast as its cross entropy.

  Args:
    dtype: Dtype of products, 'float32' or 'bfloat16'.

  Call arguments:
    states: The encoder's states at masked positions, float32 [N, M, H].
    gold_ids: Original tokens at these positions, int32 [N, M]; 0 is padding
      and gets the log probability 0. Names have one or two wordpieces of up to
      M, so the product takes a third of the time without padding.
  """

  def __init__(self, head: tf_keras.layers.Layer, dtype: str):
    self._head = head
    self._dtype = tf.as_dtype(dtype)

  def __call__(self, states: tf.Tensor, gold_ids: tf.Tensor) -> tf.Tensor:
    head = self._head
    ids = tf.reshape(gold_ids, [-1])
    real = tf.cast(tf.where(ids != _PAD_ID), tf.int32)  # [R, 1]
    number = tf.shape(real)[0]
    rows = tf.pad(real[:, 0], [[0, _ROWS - number % _ROWS]])
    flat = tf.gather(tf.reshape(states, [-1, states.shape[-1]]), rows)
    log_probs = _log_probs(
      tf.cast(head.layer_norm(head.dense(flat)), self._dtype),
      tf.cast(head.embedding_table, self._dtype),
      tf.convert_to_tensor(head.bias),
      tf.gather(ids, rows),
    )
    log_probs = tf.scatter_nd(real, log_probs[:number], tf.shape(ids))
    return tf.reshape(log_probs, tf.shape(gold_ids))


@tf.custom_gradient
def _log_probs(states, table, bias, gold_ids):
  """Returns float32 [N] from [N, H] and [V, H], and float32 [V]."""
  products = tf.matmul(states, table, transpose_b=True)
  # The graph optimizer sees no shape of an island, and would warn of ranks.
  logits = tf.ensure_shape(_with_bias(products, bias), products.shape)
  probabilities = tf.nn.softmax(logits)
  # The gold token's probability can underflow; the largest one cannot.
  log_sums = tf.reduce_max(logits, axis=-1) - tf.math.log(
    tf.reduce_max(probabilities, axis=-1)
  )

  def gradient(upstream):
    d_logits = _d_logits(probabilities, gold_ids, upstream, states.dtype)
    d_table = tf.matmul(d_logits, states, transpose_a=True)
    return d_logits @ table, d_table, islands.sum_rows(d_logits), None

  return tf.gather(logits, gold_ids, batch_dims=1) - log_sums, gradient


@islands.compiled
def _with_bias(logits, bias):
  return tf.cast(logits, tf.float32) + bias


@islands.compiled
def _d_logits(probabilities, gold_ids, upstream, dtype):
  is_gold = tf.one_hot(gold_ids, probabilities.shape[-1])
  return tf.cast((is_gold - probabilities) * upstream[:, None], dtype)
