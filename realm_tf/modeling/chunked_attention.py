"""Computes attention for few sequences at a time, for a TPU.

The scores of a whole batch are the largest arrays of a step. The scores of few
sequences fit in a core's fast memory, and never reach its main memory. The
gradient computes them again.
"""

import functools
from typing import Optional

import tensorflow as tf

from realm_tf.modeling import dropout
from realm_tf.modeling import scan

# Of scores in bfloat16. The gradient has several arrays of this size.
_MOST_BYTES = 2**24


def attend(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  bias: tf.Tensor,
  rate: float = 0.0,
  seed: Optional[tf.Tensor] = None,
  known: Optional[tf.Tensor] = None,
) -> tf.Tensor:
  """Returns the result of `islands.attend`, bfloat16 [B, A, M, D].

  Args:
    query: bfloat16 [B, A, M, D], scaled; all sizes are known.
    key: bfloat16 [B, A, L, D].
    value: bfloat16 [B, A, L, D].
    bias: Added to each key's scores, float32 [B, L].
    seed: Seed of dropout; None drops nothing.
    known: The result, if it was computed before: only the gradient is computed.
  """
  drop = functools.partial(_drop, rate=0.0 if seed is None else rate, seed=seed)
  like_query, like_key = (
    tf.TensorSpec(each.shape[1:], each.dtype) for each in (query, key)
  )

  @tf.custom_gradient
  def call(query, key, value):
    mixed = known
    if mixed is None:
      (mixed,) = _in_chunks(
        functools.partial(_forward, drop),
        (query, key, value, bias),
        [like_query],
      )

    def gradient(d_mixed):
      return _in_chunks(
        functools.partial(_backward, drop),
        (query, key, value, bias, mixed, d_mixed),
        [like_query, like_key, like_key],
      )

    return mixed, gradient

  return call(query, key, value)


def _forward(drop, start, query, key, value, bias):
  """Returns the result for sequences whose first score has number `start`."""
  weight, total = _weights(query, key, bias)
  return [_half(_float(_half(drop(weight, start)) @ value) / total)]


def _backward(drop, start, query, key, value, bias, mixed, d_mixed):
  """Returns the gradients of query, key and value."""
  weight, total = _weights(query, key, bias)
  probabilities = weight / total
  # As in `islands.attend`: a sum of D terms instead of L.
  mean = tf.reduce_sum(_float(mixed) * _float(d_mixed), axis=-1, keepdims=True)
  d_kept = _float(tf.matmul(d_mixed, value, transpose_b=True))
  d_scores = _half(probabilities * (drop(d_kept, start) - mean))
  return [
    d_scores @ key,
    tf.matmul(d_scores, query, transpose_a=True),
    tf.matmul(_half(drop(probabilities, start)), d_mixed, transpose_a=True),
  ]


def _weights(query, key, bias):
  """Returns exponentials, float32 [N, A, M, L], and sums [N, A, M, 1]."""
  scores = _float(tf.matmul(query, key, transpose_b=True))
  scores += bias[:, None, None, :]
  scores -= tf.reduce_max(scores, axis=-1, keepdims=True)
  weight = tf.exp(scores)
  return weight, tf.reduce_sum(weight, axis=-1, keepdims=True)


def _in_chunks(function, arrays, specs):
  """Returns the function's values for all sequences.

  Args:
    function: (number of the first score, arrays of some sequences) -> values.
    arrays: Tensors of all sequences, [B, ...]; the first is the query, the
      second the key.
    specs: Specs of one sequence's values.
  """
  size, heads, queried, _ = arrays[0].shape
  num_scores = heads * queried * arrays[1].shape[2]
  most = max(1, _MOST_BYTES // (2 * num_scores))
  share = max(n for n in range(1, size + 1) if size % n == 0 and n <= most)
  if share == size:
    return function(None, *arrays)
  parts = [
    tf.reshape(each, [size // share, share, *each.shape[1:]]) for each in arrays
  ]

  def step(i, carried):
    return carried, function(
      i * (share * num_scores), *(each[i] for each in parts)
    )

  _, values = scan.scan(
    size // share,
    step,
    (),
    [tf.TensorSpec([share, *each.shape], each.dtype) for each in specs],
  )
  return [tf.reshape(each, [size, *each.shape[2:]]) for each in values]


def _drop(values, start, rate, seed):
  return dropout.drop_part(values, rate, seed, start) if rate else values


def _float(values):
  return tf.cast(values, tf.float32)


def _half(values):
  return tf.cast(values, tf.bfloat16)
