"""Compiles the operations between two matmuls of BERT by XLA.

On a CPU, TensorFlow's kernels multiply faster than XLA's, which have no
bfloat16 instructions. But TensorFlow's small operations between two products
pass through memory one by one in float32, and take longer than the products. An
island is these operations as one loop, float32 inside, the products' dtype
outside. Its gradient is a second island that recomputes from the inputs.
"""

from collections.abc import Callable
import functools
from typing import Any

import tensorflow as tf

from realm_tf.model import bert
from realm_tf.model import dropout
from realm_tf.model import precision


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
  """Makes a function an island without a gradient; a TPU compiles it all."""
  made = tf.function(function, jit_compile=True, autograph=False)

  @functools.wraps(function)
  def call(*inputs):
    return (function if precision.has_tpu() else made)(*inputs)

  return call


def island(function: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
  """Compiles a function and its gradient.

  Gradients of vectors are sums over rows. The sums are matmuls outside the
  island, which take a third of the time.

  The function takes a product, [..., C], its bias, float [C], and any further
  tensors; float vectors are broadcast over rows. Gradients have the product's
  dtype.
  """
  forward = compiled(function)

  @compiled
  def backward(inputs, upstream):
    """Returns gradients of all inputs but the bias, one a row for a vector."""
    product, bias, *others = inputs
    others = [
      tf.broadcast_to(x, tf.shape(product)) if _is_vector(x) else x
      for x in others
    ]
    sources = [product, *others]
    with tf.GradientTape() as tape:
      tape.watch([x for x in sources if x.dtype.is_floating])
      outputs = tf.nest.flatten(function(product, bias, *others))
    gradients = tape.gradient(outputs, sources, upstream)
    return [g if g is None else tf.cast(g, product.dtype) for g in gradients]

  @tf.custom_gradient
  def call(*inputs):
    def gradient(*upstream):
      gradients = backward(inputs, upstream)
      sums = [
        sum_rows(gradient) if _is_vector(x) else gradient
        for x, gradient in zip(inputs[2:], gradients[1:], strict=True)
      ]
      return gradients[0], sum_rows(gradients[0]), *sums

    return forward(*inputs), gradient

  return call


def _is_vector(tensor):
  return tensor.dtype.is_floating and tensor.shape.rank == 1


def sum_rows(tensor):
  """Returns float32 [C] from [..., C]."""
  flat = tf.reshape(tensor, [-1, tensor.shape[-1]])
  if precision.has_tpu():
    return tf.reduce_sum(precision.to_float(flat), axis=0)
  ones = tf.ones([1, tf.shape(flat)[0]], flat.dtype)
  return tf.cast((ones @ flat)[0], tf.float32)


@functools.cache
def split_heads(
  num_heads: int, scales: tuple[float, ...]
) -> Callable[..., tuple[tf.Tensor, ...]]:
  """Returns an island that splits concatenated projections by part and head.

  The island maps [B, L, P * H] and biases, float32 [P * H], to P tensors,
  [B, A, L, H / A], times their `scales`.
  """

  def split(projected, bias):
    size, length = (bert.size(projected, axis) for axis in (0, 1))
    width = projected.shape[-1] // len(scales) // num_heads
    shape = [size, length, len(scales), num_heads, width]
    parts = tf.unstack(
      tf.reshape(precision.to_float(projected) + bias, shape), axis=2
    )
    return tuple(
      tf.cast(tf.transpose(part * scale, [0, 2, 1, 3]), projected.dtype)
      for part, scale in zip(parts, scales, strict=True)
    )

  return island(split)


@functools.cache
def residual_norm(rate: float, epsilon: float) -> Callable[..., tf.Tensor]:
  """Returns an island: layer_norm(states + drop(product + bias))."""

  def norm(product, bias, states, scale, offset, *seed):
    change = precision.to_float(product) + bias
    if seed:
      change = dropout.drop(change, rate, *seed)
    total = precision.to_float(states) + change
    centred = total - _mean(total)
    variance = _mean(tf.square(centred))
    normal = centred * tf.math.rsqrt(variance + epsilon) * scale + offset
    return tf.cast(normal, product.dtype)

  return island(norm)


@functools.cache
def activated(
  activation: Callable[[tf.Tensor], tf.Tensor],
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
  """Returns an island: activation(product + bias), [..., H]."""
  return island(
    lambda product, bias: tf.cast(
      activation(precision.to_float(product) + bias), product.dtype
    )
  )


def attend(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  bias: tf.Tensor,
  rate: float = 0.0,
  seed: tf.Tensor | None = None,
) -> tf.Tensor:
  """Returns drop(softmax(query @ key^T + bias)) @ value, [B, A, M, D].

  The gradient uses that, for each query, the sum of probabilities times their
  gradients is the inner product of the output with its gradient: D terms, not L
  (Dao et al. 2022, https://arxiv.org/abs/2205.14135, Appendix B.2).

  Args:
    query: [B, A, M, D], scaled.
    key: [B, A, L, D], of the query's dtype, as `value`.
    value: [B, A, L, D].
    bias: Added to each key's scores, float32 [B, L].
    seed: Seed of dropout; None drops nothing.
  """

  @tf.custom_gradient
  def call(query, key, value):
    scores = tf.matmul(query, key, transpose_b=True)  # [B, A, M, L]
    # The graph optimizer sees no shape of an island, and would warn of ranks.
    scores = tf.ensure_shape(_biased(scores, bias), scores.shape)
    kept = probabilities = tf.nn.softmax(scores)
    if seed is not None and rate:
      kept = _dropped(probabilities, rate, seed)
    mixed = kept @ value

    def gradient(upstream):
      d_scores = _softmax_gradient(
        probabilities,
        kept,
        tf.matmul(upstream, value, transpose_b=True),
        mixed,
        upstream,
        dropout.scale(rate) if kept is not probabilities else 1.0,
      )
      return (
        d_scores @ key,
        tf.matmul(d_scores, query, transpose_a=True),
        tf.matmul(kept, upstream, transpose_a=True),
      )

    return mixed, gradient

  return call(query, key, value)


@compiled
def _biased(scores, bias):
  biased = precision.to_float(scores) + bias[:, None, None, :]
  return tf.cast(biased, scores.dtype)


@compiled
def _dropped(values, rate, seed):
  dropped = dropout.drop(precision.to_float(values), rate, seed)
  return tf.cast(dropped, values.dtype)


@compiled
def _softmax_gradient(probabilities, kept, d_kept, mixed, d_mixed, scale):
  """Returns the gradient of scores, [B, A, M, L]."""
  mean = tf.reduce_sum(
    precision.to_float(mixed) * precision.to_float(d_mixed),
    axis=-1,
    keepdims=True,
  )
  d_probabilities = tf.where(kept > 0, precision.to_float(d_kept) * scale, 0.0)
  d_scores = precision.to_float(probabilities) * (d_probabilities - mean)
  return tf.cast(d_scores, probabilities.dtype)


def _mean(values):
  """Returns float32 [..., 1] by a product, because XLA's row sums are slow."""
  if precision.has_tpu():
    return tf.reduce_mean(values, axis=-1, keepdims=True)
  width = values.shape[-1]
  return values @ tf.fill([width, 1], 1 / width)
