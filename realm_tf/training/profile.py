"""A profile of some steps, for TensorBoard."""

import tensorflow as tf


class Profile:
  """Traces some steps; called before each with its number.

  Args:
    first: Step.
    last: Step.
    directory: Where TensorBoard looks.
  """

  def __init__(self, first: int, last: int, directory: str):
    self._first, self._last = first, last
    self._directory = directory
    self._is_on = False

  def __call__(self, step: int) -> None:
    if step == self._first:
      tf.profiler.experimental.start(self._directory)
      self._is_on = True
    elif self._is_on and step > self._last:
      tf.profiler.experimental.stop()
      self._is_on = False
