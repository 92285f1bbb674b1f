"""Sums, measures and clips gradients, between the tape and the optimizer.

Norms belong to the whole batch, so every strategy gives the same result.
"""

from collections.abc import Iterable, Sequence
from typing import Optional

import tensorflow as tf

from realm_tf.modeling import realm_model

Gradient = Optional[tf.Tensor]


def sum_over_replicas(
  gradients: Sequence[tf.Tensor | tf.IndexedSlices | None],
) -> list[Gradient]:
  """Returns the gradients of the whole batch, dense; None stays None."""
  # Dense: the norm of slices would count a repeated row twice.
  there = [tf.convert_to_tensor(each) for each in gradients if each is not None]
  summed = iter(all_reduce(there))
  return [None if each is None else next(summed) for each in gradients]


def all_reduce(values: list[tf.Tensor]) -> list[tf.Tensor]:
  """Returns the sums over all replicas; runs in a replica."""
  replica = tf.distribute.get_replica_context()
  if replica.num_replicas_in_sync == 1 or not values:
    return values
  return replica.all_reduce(tf.distribute.ReduceOp.SUM, values)


def norms(
  gradients: Sequence[Gradient], variables: Sequence[tf.Variable]
) -> dict[str, tf.Tensor]:
  """Returns the global norm, and each tower's if there are two or more."""
  squares: dict[str, list[tf.Tensor]] = {}
  for gradient, variable in zip(gradients, variables, strict=True):
    if gradient is not None:
      square = tf.reduce_sum(tf.square(tf.cast(gradient, tf.float32)))
      squares.setdefault(_tower(variable.name), []).append(square)
  result = {'gradient_norm': _root(sum(squares.values(), []))}
  if len(squares) > 1:
    for tower, values in squares.items():
      result[f'gradient_norm/{tower}'] = _root(values)
  return result


def _tower(name: str) -> str:
  if name.startswith(realm_model.EMBEDDER_PREFIXES):
    return name.partition('_')[0]
  return 'reader'


def _root(squares: Iterable[tf.Tensor]) -> tf.Tensor:
  # Not `add_n`: its order of summation depends on the threads' speed, and so
  # does the last bit of the sum.
  return tf.sqrt(tf.reduce_sum(tf.stack([tf.zeros([]), *squares])))


def clip(
  gradients: Sequence[Gradient], norm: tf.Tensor, limit: float
) -> list[Gradient]:
  """Scales dense gradients of global `norm` to at most `limit`; 0: no limit."""
  if not limit:
    return list(gradients)
  scale = limit / tf.maximum(norm, limit)
  return [
    None if each is None else each * tf.cast(scale, each.dtype)
    for each in gradients
  ]
