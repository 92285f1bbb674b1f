"""Trains the ICT warm start: one step teaches a sentence to find its block.

A batch has wordpieces of queries and their blocks, 'query_ids' [B, Lx],
'title_ids' [B, Lt] and 'body_ids' [B, Lz], int32, zero-padded, and may have
'is_compared', the blocks in each query's sum, bool [B, B]. Each replica embeds
its part, and compares its queries with the blocks of all replicas.

Chunks compute a large batch's gradient in the memory of one chunk. Gradient
caching, Gao et al. 2021 (https://arxiv.org/abs/2101.06983): the loss compares
all examples, but an embedding e depends on its own example only, so

  dL/dw = sum_chunks sum_{e of the chunk} dL/de de/dw

is exact, and only e and dL/de stay in memory. The trainer embeds the chunks
without a tape, computes dL/de, and embeds the chunks again with a tape.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import step_trainer


class InverseClozeTrainer(step_trainer.StepTrainer):
  """Maximizes the in-batch log p(z|x), Lee et al. 2019, Section 4.

  `config.chunk_size` must divide each replica's part of B. The model must have
  the EMBEDDER part.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    config: config_lib.InverseClozeConfig,
    *,
    lengths: config_lib.LengthConfig,
    special_ids: tuple[int, int],
  ):
    super().__init__(
      optimizer, model, jit_compile=config.jit_compile and model.prefers_xla
    )
    self._lengths = lengths
    self._special_ids = special_ids
    self._chunk_size = config.chunk_size

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    queries, blocks = self.embed(batch)
    return _loss_and_logs(queries, blocks, batch.get('is_compared'))

  def embed(
    self, batch: dict[str, tf.Tensor], training: bool = True
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns embeddings of queries and blocks, float32 [b, D] each."""
    queries = self.model.embed_queries(
      joining.pack_longest(
        batch['query_ids'], None, *self._special_ids, self._lengths.query_tokens
      ),
      training=training,
    )
    blocks = self.model.embed_blocks(
      joining.pack_longest(
        batch['title_ids'],
        batch['body_ids'],
        *self._special_ids,
        self._lengths.block_tokens,
      ),
      training=training,
    )
    return queries, blocks

  def compute(self, batch: dict[str, tf.Tensor]) -> step_trainer.Computed:
    if not self._chunk_size:
      return super().compute(batch)
    chunks = split(batch, self._chunk_size)

    def embed(
      chunk: dict[str, tf.Tensor], number: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
      # A chunk has the same dropout both times that it is embedded.
      with self._dropout(self.global_step, number):
        return self.embed(chunk)

    # Compiled for each chunk: XLA would run a whole compiled loop on one core.
    forwards = embed
    if self._jit_compile:
      forwards = tf.function(embed, jit_compile=True, autograph=False)
    queries, blocks = embed_chunks(forwards, chunks)
    share = 1.0 / self._strategy.num_replicas_in_sync
    with tf.GradientTape() as tape:
      tape.watch([queries, blocks])
      loss, logs = _loss_and_logs(queries, blocks, batch.get('is_compared'))
      part = share * loss
    gradients = chunk_gradients(
      embed,
      chunks,
      tape.gradient(part, [queries, blocks]),
      variables=self._trained_variables,
      jit_compile=self._jit_compile,
    )
    return loss, logs, gradients


def _loss_and_logs(
  queries: tf.Tensor, blocks: tf.Tensor, is_compared: tf.Tensor | None
) -> step_trainer.LossAndLogs:
  """Returns loss and logs of one replica's queries.

  Each block must get the gradients of every replica's queries: the gradient of
  a sum over replicas is such a sum. The gradient of an `all_gather` has no
  static shape outside TPUs.
  """
  replica = tf.distribute.get_replica_context()
  count, first = replica.num_replicas_in_sync, 0
  if count > 1:  # The blocks of the global batch, [B, D].
    number = replica.replica_id_in_sync_group
    is_own = tf.one_hot(number, count, dtype=blocks.dtype)[:, None, None]
    (parts,) = optimizer_lib.all_reduce([is_own * blocks])  # [R, B / R, D]
    size = tf.shape(blocks)[0]
    blocks = tf.reshape(parts, [count * size, blocks.shape[-1]])
    first = number * size
  # A copy, which XLA does not fuse with the product: without it a CPU rounds
  # otherwise, and runs no longer repeat earlier ones to the bit.
  blocks = tf.concat([blocks], axis=0)
  log_p = objectives.in_batch_log_likelihood(
    queries, blocks, first, is_compared
  )
  accuracy = objectives.in_batch_accuracy(queries, blocks, first, is_compared)
  return -tf.reduce_mean(log_p), {'log_likelihood': log_p, 'accuracy': accuracy}


# (arrays of a chunk [c, ...], its number int32 []) -> embeddings, each [c, D].
# It runs twice for each chunk, so the number must determine random draws.
Embed = Callable[[Any, tf.Tensor], Sequence[tf.Tensor]]


def split(batch: Mapping[Any, Any], chunk_size: int) -> dict[Any, tf.Tensor]:
  """Returns the arrays [b, ...] as chunks [b / c, c, ...]."""
  return {
    name: tf.reshape(value, [-1, chunk_size, *value.shape[1:]])
    for name, value in batch.items()
  }


def embed_chunks(
  embed: Embed, chunks: Mapping[str, tf.Tensor]
) -> list[tf.Tensor]:
  """Returns both outputs of `embed` for all chunks, float32 [b, D]."""
  parts = tf.map_fn(
    lambda i: tuple(embed(_at(chunks, i), i)),
    tf.range(next(iter(chunks.values())).shape[0]),
    parallel_iterations=1,  # Two would take the memory of two chunks.
    fn_output_signature=(tf.float32, tf.float32),
  )
  return [tf.reshape(each, [-1, each.shape[-1]]) for each in parts]


def chunk_gradients(
  embed: Embed,
  chunks: Mapping[str, tf.Tensor],
  of_embeddings: Sequence[tf.Tensor],
  *,
  variables: Sequence[tf.Variable],
  jit_compile: bool = False,
) -> list[optimizer_lib.Gradient]:
  """Returns dL/dw, dense, for each variable; None for one without influence.

  Args:
    of_embeddings: dL/de of each of `embed_chunks`, float32 [b, D].
    jit_compile: Whether XLA compiles the work on a chunk.
  """
  number, size, *_ = next(iter(chunks.values())).shape
  cached = split(dict(enumerate(of_embeddings)), size)
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
    of_chunk = tf.function(of_chunk, jit_compile=True, autograph=False)

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


def _at(chunks: Mapping[Any, tf.Tensor], i: tf.Tensor) -> dict[Any, tf.Tensor]:
  return {name: value[i] for name, value in chunks.items()}


def _add(total: tf.Tensor, gradient: tf.Tensor | tf.IndexedSlices) -> tf.Tensor:
  """Returns the sum; adds only the rows that a table's gradient has."""
  if isinstance(gradient, tf.IndexedSlices):
    return tf.tensor_scatter_nd_add(
      total, gradient.indices[:, None], gradient.values
    )
  return total + gradient
