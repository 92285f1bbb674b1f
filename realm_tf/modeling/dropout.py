"""Drops out values in compiled training steps, by hashes of their places.

  values, rate, seed -> [this file] -> values, some of them 0

A mask is a function of the seed and the element's number, of five operations
on integers. XLA computes it where it is used, in the forward pass and once
more in the backward pass, so it is never stored: on CPU it costs nothing that
could be measured, where TensorFlow's Philox takes a seventh of a step.
"""

from collections.abc import Callable, Iterator
import contextlib
import contextvars
from typing import Optional

import tensorflow as tf

# Returns the seed of the next call, int32 [2], or None.
NextSeed = Callable[[], Optional[tf.Tensor]]

_next_seed: contextvars.ContextVar[Optional[NextSeed]] = contextvars.ContextVar(
  'next_seed', default=None
)


@contextlib.contextmanager
def seeds_from(next_seed: NextSeed) -> Iterator[None]:
  """Draws seeds from `next_seed` inside the context, unless it returns None."""
  token = _next_seed.set(next_seed)
  try:
    yield
  finally:
    _next_seed.reset(token)


def draw_seed() -> tf.Tensor:
  """Returns a seed of `seeds_from`, else one of TensorFlow's; int32 [2]."""
  next_seed = _next_seed.get()
  seed = next_seed() if next_seed is not None else None
  if seed is None:
    limit = tf.int32.max
    seed = tf.random.uniform([2], -limit, limit, tf.int32)
  return seed


def drop(values: tf.Tensor, rate: float, seed: tf.Tensor) -> tf.Tensor:
  """Sets each element to 0 with probability `rate`, and scales the others.

  Args:
    values: Float, of any shape; fewer than 2^31 elements.
    rate: Probability, below 1; 0 returns `values`.
    seed: int32 [2]; the same seed gives the same elements.

  Returns:
    Values of the same shape and expectation.
  """
  if not rate:
    return values
  bits = tf.reshape(_hash(tf.size(values), seed), tf.shape(values))
  keep = bits >= tf.constant(round(rate * 2**32), tf.uint32)
  return tf.where(keep, values * scale(rate), tf.zeros_like(values))


def scale(rate: float) -> float:
  """Returns the factor of the elements that `drop` keeps."""
  return 1 / (1 - rate)


def _hash(number: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
  """Returns uint32 [number]: the places, mixed, with keys from `seed`.

  The second key keeps the masks of two seeds from being one mask, shifted.
  """
  first, second = tf.unstack(_mix(tf.bitcast(seed, tf.uint32)))
  second = _mix(second + first)  # Near seeds have keys that are far apart.
  places = tf.cast(tf.range(number, dtype=tf.int32), tf.uint32)
  return _mix(places + first, second)


def _mix(bits: tf.Tensor, key: Optional[tf.Tensor] = None) -> tf.Tensor:
  """Returns lowbias32 of uint32 of any shape.

  C. Wellons, "Prospecting for hash functions" (2018): each bit of the input
  changes each bit of the output with probability 1/2, within 0.2 %.
  """
  bits = _fold(bits, 16) * tf.constant(0x7FEB352D, tf.uint32)
  bits = _fold(bits, 15)
  if key is not None:
    bits = tf.bitwise.bitwise_xor(bits, key)
  bits *= tf.constant(0x846CA68B, tf.uint32)
  return _fold(bits, 16)


def _fold(bits, by):
  shifted = tf.bitwise.right_shift(bits, tf.constant(by, tf.uint32))
  return tf.bitwise.bitwise_xor(bits, shifted)
