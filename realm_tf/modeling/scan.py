"""Runs equal parts of a program as one loop, for a TPU's compiler."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

# (number of the turn, carried) -> (carried, values of the turn)
Step = Callable[[tf.Tensor, Any], tuple[Any, Sequence[tf.Tensor]]]


def scan(
  number: int,
  step: Step,
  carried: Any,
  values: Sequence[tf.TensorSpec],
  backwards: bool = False,
) -> tuple[Any, list[tf.Tensor]]:
  """Returns the last tensors, and the values of all turns, [number, ...].

  Has no gradient: a loop's own would keep every value of every turn.

  Args:
    carried: Tensors of the same types and shapes before and after each turn.
    values: Types and shapes of a turn's values.
    backwards: Whether the turns run from `number` - 1 to 0.
  """
  arrays = [
    tf.TensorArray(each.dtype, number, element_shape=each.shape)
    for each in values
  ]

  def turn(turns, carried, arrays):
    i = number - 1 - turns if backwards else turns
    carried, found = step(i, carried)
    written = [
      array.write(i, value) for array, value in zip(arrays, found, strict=True)
    ]
    return turns + 1, carried, written

  _, carried, arrays = tf.while_loop(
    lambda turns, *_: turns < number, turn, (tf.constant(0), carried, arrays)
  )
  return carried, [array.stack() for array in arrays]
