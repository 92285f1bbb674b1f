"""What lies between two matmuls of an encoder, each a function XLA compiles.

TensorFlow's own kernels multiply bfloat16 on CPUs, and XLA's do not; but XLA
alone makes one pass over memory of a bias, an activation and its casts. So each
of these is compiled for itself, forward and backward, float32 inside; what goes
to a matmul and what comes from one has the matmul's dtype. Where a step is
compiled as a whole they are a part of it.

The gradients are written out: TensorFlow's would keep every intermediate.
"""

from collections.abc import Callable
import functools
from typing import Optional

import tensorflow as tf

from realm_tf.modeling import dropout

_compiled = functools.partial(tf.function, jit_compile=True)


def _float(values):
  return tf.cast(values, tf.float32)


def _rows(values):
  """Returns the axes over which a bias's gradient is summed."""
  return list(range(values.shape.rank - 1))


@functools.lru_cache(None)
def activate(
  activation: Callable[[tf.Tensor], tf.Tensor],
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
  """Returns a function from x, [..., F], and bias, float32 [F], to [..., F].

  It is activation(x + bias), in the dtype of x.

  Args:
    activation: Elementwise.
  """

  @_compiled
  def forward(x, bias):
    return tf.cast(activation(_float(x) + bias), x.dtype)

  @_compiled
  def backward(x, bias, dy):
    total = _float(x) + bias
    with tf.GradientTape() as tape:
      tape.watch(total)
      y = activation(total)
    dx = tape.gradient(y, total, _float(dy))
    return tf.cast(dx, x.dtype), tf.reduce_sum(dx, _rows(dx))

  @tf.custom_gradient
  def function(x, bias):
    return forward(x, bias), lambda dy: backward(x, bias, dy)

  return function


@functools.lru_cache(None)
def add_and_normalize(
  rate: float, epsilon: float
) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
  """Returns LayerNorm(states + dropout(x + bias)) as a function.

  Its arguments are states, float32 [..., H]; x, [..., H] in the dtype of
  matmuls; bias, scale and offset, float32 [H]; and a seed, see `dropout.drop`,
  or None. It returns the result in float32, and in the dtype of x.

  Args:
    rate: Share of x that is dropped where there is a seed.
    epsilon: Added to the variance.
  """

  @_compiled
  def forward(states, x, bias, scale, offset, seed):
    total = states + _drop(_float(x) + bias, rate, seed)
    centred = total - tf.reduce_mean(total, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    inverse = tf.math.rsqrt(variance + epsilon)
    normal = centred * inverse
    y = normal * scale + offset
    return y, tf.cast(y, x.dtype), normal, inverse

  @_compiled
  def backward(kept, seed, dy, dy_low):
    dtotal, dscale, doffset = _normalize_backward(*kept, dy + _float(dy_low))
    # Dropout is linear, and drops the same elements again.
    dx = _drop(dtotal, rate, seed)
    dbias = tf.reduce_sum(dx, _rows(dx))
    return dtotal, tf.cast(dx, dy_low.dtype), dbias, dscale, doffset

  def function(states, x, bias, scale, offset, seed: Optional[tf.Tensor]):
    @tf.custom_gradient
    def differentiable(states, x, bias, scale, offset):
      y, low, normal, inverse = forward(states, x, bias, scale, offset, seed)
      kept = normal, inverse, scale
      return (y, low), functools.partial(backward, kept, seed)

    return differentiable(states, x, bias, scale, offset)

  return function


def _drop(values, rate, seed):
  return values if seed is None else dropout.drop(values, rate, seed)


def _normalize_backward(normal, inverse, scale, dy):
  """Returns the gradients of LayerNorm by its input, scale and offset."""
  dnormal = dy * scale
  mean = tf.reduce_mean(dnormal, axis=-1, keepdims=True)
  along = tf.reduce_mean(dnormal * normal, axis=-1, keepdims=True)
  rows = _rows(dy)
  return (
    inverse * (dnormal - mean - normal * along),
    tf.reduce_sum(dy * normal, rows),
    tf.reduce_sum(dy, rows),
  )


@_compiled
def _softmax_backward(probabilities, dy):
  p, dy = _float(probabilities), _float(dy)
  along = tf.reduce_sum(p * dy, axis=-1, keepdims=True)
  return tf.cast(p * (dy - along), probabilities.dtype)


@tf.custom_gradient
def softmax(scores: tf.Tensor) -> tf.Tensor:
  """Returns softmax over the last axis, in the dtype of the scores."""
  probabilities = tf.nn.softmax(scores)  # One kernel, quicker than XLA's.
  return probabilities, functools.partial(_softmax_backward, probabilities)
