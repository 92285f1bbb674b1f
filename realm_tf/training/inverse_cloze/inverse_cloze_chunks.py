"""Computes a large batch's gradient in the memory of one chunk.

Gradient caching, Gao et al. 2021 (https://arxiv.org/abs/2101.06983): the loss
compares all examples, but an embedding e depends on its own example only, so

  dL/dw = sum_chunks sum_{e of the chunk} dL/de de/dw

is exact, and only e and dL/de stay in memory. The trainer embeds the chunks
without a tape, computes dL/de, and embeds the chunks again with a tape.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from realm_tf.training import gradients as gradients_lib

# (arrays of a chunk [c, ...], its number int32 []) -> embeddings, each [c, D].
# It runs twice for each chunk, so the number must determine random draws.
Embed = Callable[[Any, tf.Tensor], Sequence[tf.Tensor]]


def split(batch: Mapping[Any, Any], chunk_size: int) -> dict[Any, tf.Tensor]:
  """Returns the arrays [b, ...] as chunks [b / c, c, ...]."""
  return {
    name: tf.reshape(value, [-1, chunk_size, *value.shape[1:]])
    for name, value in batch.items()
  }


def embeddings(
  embed: Embed, chunks: Mapping[str, tf.Tensor], number: int = 2
) -> list[tf.Tensor]:
  """Returns the `number` outputs of `embed` for all chunks, float32 [b, D]."""
  parts = tf.map_fn(
    lambda i: tuple(embed(_at(chunks, i), i)),
    tf.range(_number(chunks)),
    parallel_iterations=1,  # Two would take the memory of two chunks.
    fn_output_signature=(tf.float32,) * number,
  )
  return [tf.reshape(each, [-1, each.shape[-1]]) for each in parts]


def gradients(
  embed: Embed,
  chunks: Mapping[str, tf.Tensor],
  of_embeddings: Sequence[tf.Tensor],
  *,
  variables: Sequence[tf.Variable],
  jit_compile: bool = False,
) -> list[gradients_lib.Gradient]:
  """Returns dL/dw, dense, for each variable; None for one without influence.

  Args:
    of_embeddings: dL/de of each of `embeddings`, float32 [b, D].
    jit_compile: Whether XLA compiles the work on a chunk.
  """
  number = _number(chunks)
  cached = dict(enumerate(of_embeddings))
  cached = split(cached, next(iter(chunks.values())).shape[1])
  is_used = [False] * len(variables)  # Known once the loop is traced.

  def of_chunk(
    chunk: Any, own: list[tf.Tensor], i: tf.Tensor
  ) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
      outputs = embed(chunk, i)
    found = tape.gradient(outputs, variables, output_gradients=own)
    is_used[:] = [each is not None for each in found]
    return [each for each in found if each is not None]

  if jit_compile:
    of_chunk = tf.function(of_chunk, jit_compile=True)

  def add(
    i: tf.Tensor, sums: list[tf.Tensor]
  ) -> tuple[tf.Tensor, list[tf.Tensor]]:
    found = iter(of_chunk(_at(chunks, i), list(_at(cached, i).values()), i))
    return i + 1, [
      _add(total, next(found)) if used else total
      for total, used in zip(sums, is_used, strict=True)
    ]

  zeros = [tf.zeros(each.shape, each.dtype) for each in variables]
  _, sums = tf.while_loop(
    lambda i, _: i < number, add, (0, zeros), parallel_iterations=1
  )
  return [
    each if used else None for each, used in zip(sums, is_used, strict=True)
  ]


def _number(chunks: Mapping[Any, tf.Tensor]) -> int:
  return next(iter(chunks.values())).shape[0]


def _at(chunks: Mapping[Any, tf.Tensor], i: tf.Tensor) -> dict[Any, tf.Tensor]:
  return {name: value[i] for name, value in chunks.items()}


def _add(total: tf.Tensor, gradient: tf.Tensor | tf.IndexedSlices) -> tf.Tensor:
  """Returns the sum; adds only the rows that a table's gradient has."""
  if isinstance(gradient, tf.IndexedSlices):
    return tf.tensor_scatter_nd_add(
      total, gradient.indices[:, None], gradient.values
    )
  return total + gradient
