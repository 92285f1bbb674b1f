"""Dropout for compiled training steps: masks are hashes of positions.

A mask takes five integer operations on the seed and the element's number. XLA
computes the mask in both passes and never stores it. On a CPU the cost is not
measurable; TensorFlow's Philox takes a seventh of a step.
"""

from collections.abc import Callable, Iterator
import contextlib
import contextvars
import itertools

import tensorflow as tf
import tf_keras

from realm_tf.model import precision

# TensorFlow writes shorter ranges into the program as constants, 10 MiB each: a
# third of a gigabyte in a step of BERT-base that a TPU would read.
_UNFOLDED = 10 * 2**20 // 4 + 1

# () -> seed of the next call, int32 [2].
NextSeed = Callable[[], tf.Tensor]

_next_seed: contextvars.ContextVar[NextSeed | None] = contextvars.ContextVar(
  'next_seed', default=None
)


@contextlib.contextmanager
def seeds_from(next_seed: NextSeed) -> Iterator[None]:
  """Draws seeds from `next_seed` inside the context."""
  token = _next_seed.set(next_seed)
  try:
    yield
  finally:
    _next_seed.reset(token)


def draw_seed() -> tf.Tensor:
  """Returns a seed of `seeds_from`, or else of TensorFlow, int32 [2]."""
  next_seed = _next_seed.get()
  if next_seed is not None:
    return next_seed()
  limit = tf.int32.max
  return tf.random.uniform([2], -limit, limit, tf.int32)


def drop(
  values: tf.Tensor,
  rate: float,
  seed: tf.Tensor,
  start: tf.Tensor | None = None,
) -> tf.Tensor:
  """Sets elements to 0 with probability `rate`; keeps the expectation.

  The values are fewer than 2^31 floats of any shape. The seed is int32 [2]. For
  a part of the values, `start` is its place in all of them.
  """
  if not rate:
    return values
  bits = tf.reshape(_hash(tf.size(values), seed, start), tf.shape(values))
  keep = bits >= tf.constant(round(rate * 2**32), tf.uint32)
  return tf.where(keep, values * scale(rate), tf.zeros_like(values))


def scale(rate: float) -> float:
  """Returns the factor of kept elements."""
  return 1 / (1 - rate)


def _hash(
  number: tf.Tensor, seed: tf.Tensor, start: tf.Tensor | None
) -> tf.Tensor:
  """Returns hashes of `number` positions from `start` or 0 on, uint32 [number].

  Without the second key, masks of two seeds could be shifts of one mask.
  """
  first, second = tf.unstack(_mix(tf.bitcast(seed, tf.uint32)))
  second = _mix(second + first)  # Similar seeds get dissimilar keys.
  longest = tf.maximum(number, _UNFOLDED) if precision.has_tpu() else number
  places = tf.cast(tf.range(longest, dtype=tf.int32), tf.uint32)[:number]
  if start is not None:
    first += tf.cast(start, tf.uint32)
  return _mix(places + first, second)


def _mix(bits: tf.Tensor, key: tf.Tensor | None = None) -> tf.Tensor:
  """Returns lowbias32 of uint32 values, with an optional key.

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


class StepDropout:
  """Makes a model's dropout masks a function of seed and training step.

  Keras draws from a state that no checkpoint holds, so a resumed run would get
  other masks than an uninterrupted one. Outside `at`, Keras draws.
  """

  def __init__(self, model: tf.Module, seed: int):
    self._seed = seed
    for module in model.submodules:
      if isinstance(module, tf_keras.layers.Dropout):
        # Keras has no public way to give a tensor as seed to another library's
        # layer.
        module._random_generator = _Generator(module._random_generator)  # pylint: disable=protected-access

  @contextlib.contextmanager
  def at(self, step: tf.Tensor, part: int | tf.Tensor = 0) -> Iterator[None]:
    """Makes masks depend only on step, part, replica and order of calls.

    `part` is the number of a part, if a step is computed in parts.
    """
    replica = tf.distribute.get_replica_context()
    number = replica.replica_id_in_sync_group if replica else 0
    seed = tf.stack(
      [tf.constant(self._seed, tf.int32), tf.cast(step, tf.int32)]
    )
    for value in (number, part):
      seed = _fold_in(seed, value)
    # The first half of `_fold_in(seed, n)` is the same for each n. It is half a
    # hundred operations, and a step has hundreds of calls.
    first, calls = _fold_in(seed, 0)[0], itertools.count(1)
    with seeds_from(lambda: tf.stack([first, next(calls)])):
      yield


class _Generator:
  """Stands in for a layer's `tf_keras.backend.RandomGenerator`."""

  def __init__(self, usual):
    self._usual = usual

  def dropout(self, inputs, rate, noise_shape=None):
    if _next_seed.get() is None:
      return self._usual.dropout(inputs, rate, noise_shape=noise_shape)
    if noise_shape is None:
      return drop(inputs, rate, draw_seed())
    return inputs * drop(tf.ones(noise_shape, inputs.dtype), rate, draw_seed())

  def __getattr__(self, name):
    return getattr(self._usual, name)


def _fold_in(seed, value):
  """Returns a non-negative seed of both: XLA would drop the sign bit."""
  folded = tf.random.experimental.stateless_fold_in(seed, value)
  return tf.bitwise.bitwise_and(folded, tf.constant(tf.int32.max))
