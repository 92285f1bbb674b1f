"""Sizes of tensors that may or may not be known while a graph is made."""

import tensorflow as tf


def size(tensor: tf.Tensor, axis: int) -> int | tf.Tensor:
  """Returns an int where the size is known, as XLA wants it."""
  known = tensor.shape[axis]
  return tf.shape(tensor)[axis] if known is None else known
