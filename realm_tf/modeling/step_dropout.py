"""Makes the masks of dropout a function of seed and training step.

  model, seed -> [this file]; inside `at(step)` its layers draw from both

Keras draws from a state that no checkpoint holds: a resumed run would go on
with other masks than one that was never interrupted.
"""

from collections.abc import Iterator
import contextlib
from typing import Optional

import tensorflow as tf
import tf_keras

from realm_tf.modeling import dropout


class StepDropout:
  """Takes over the Dropout layers of a model.

  Outside `at` they draw as before.
  """

  def __init__(self, model: tf.Module, seed: int):
    self._seed = seed
    self._now: Optional[tf.Tensor] = None
    self._num_calls = 0
    for module in model.submodules:
      if isinstance(module, tf_keras.layers.Dropout):
        # Keras has no public way to give a layer of another library a seed
        # that is a tensor.
        module._random_generator = _Generator(self, module._random_generator)  # pylint: disable=protected-access

  @contextlib.contextmanager
  def at(self, step: tf.Tensor, part: int | tf.Tensor = 0) -> Iterator[None]:
    """Makes masks depend on step, part, replica and order of calls only.

    Args:
      step: Integer scalar.
      part: Number of the part of a step that is computed in parts; int32 []
        where a compiled loop counts them.
    """
    before = self._now, self._num_calls
    replica = tf.distribute.get_replica_context()
    number = replica.replica_id_in_sync_group if replica else 0
    seed = tf.stack(
      [tf.constant(self._seed, tf.int32), tf.cast(step, tf.int32)]
    )
    for value in (number, part):
      seed = _fold_in(seed, value)
    self._now, self._num_calls = seed, 0
    try:
      with dropout.seeds_from(self.next_seed):
        yield
    finally:
      self._now, self._num_calls = before

  def next_seed(self) -> Optional[tf.Tensor]:
    """Returns the seed of the next call, int32 [2]; None outside `at`."""
    if self._now is None:
      return None
    self._num_calls += 1
    return _fold_in(self._now, self._num_calls)


class _Generator:
  """Stands in for a layer's `tf_keras.backend.RandomGenerator`."""

  def __init__(self, owner, usual):
    self._owner = owner
    self._usual = usual

  def dropout(self, inputs, rate, noise_shape=None):
    seed = self._owner.next_seed()
    if seed is None:
      return self._usual.dropout(inputs, rate, noise_shape=noise_shape)
    if noise_shape is None:
      return dropout.drop(inputs, rate, seed)
    return inputs * dropout.drop(tf.ones(noise_shape, inputs.dtype), rate, seed)

  def __getattr__(self, name):
    return getattr(self._usual, name)


def _fold_in(seed, value):
  """Returns a seed of both, not negative: XLA takes the sign for a bit."""
  folded = tf.random.experimental.stateless_fold_in(seed, value)
  return tf.bitwise.bitwise_and(folded, tf.constant(tf.int32.max))
