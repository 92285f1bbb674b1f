"""Trains the ICT warm start: one step teaches a sentence to find its block.

Each replica embeds its part of the batch, and compares its queries with the
blocks of all replicas.
"""

from collections.abc import Sequence
from typing import Optional

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.objectives import inverse_cloze
from realm_tf.records import joining
from realm_tf.training import gradients as gradients_lib
from realm_tf.training import step_trainer
from realm_tf.training.inverse_cloze import inverse_cloze_batches
from realm_tf.training.inverse_cloze import inverse_cloze_chunks

Batch = inverse_cloze_batches.Batch


class InverseClozeTrainer(step_trainer.StepTrainer[Batch]):
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

  def loss_and_logs(self, batch: Batch) -> step_trainer.LossAndLogs:
    return _loss_and_logs(self.embed(batch), batch.get('is_compared'))

  def embed(self, batch: Batch, training: bool = True) -> tuple[tf.Tensor, ...]:
    """Returns embeddings of queries, blocks and any hard negatives, [b, D]."""
    queries = self.model.embed_queries(
      joining.pack_longest(
        batch['query_ids'], None, *self._special_ids, self._lengths.query_tokens
      ),
      training=training,
    )
    embeddings = [
      queries,
      self._embed_blocks(batch['title_ids'], batch['body_ids'], training),
    ]
    if 'hard_title_ids' in batch:
      hard = batch['hard_title_ids'], batch['hard_body_ids']
      embeddings.append(self._embed_blocks(*hard, training))
    return tuple(embeddings)

  def _embed_blocks(
    self, title_ids: tf.Tensor, body_ids: tf.Tensor, training: bool
  ) -> tf.Tensor:
    return self.model.embed_blocks(
      joining.pack_longest(
        title_ids, body_ids, *self._special_ids, self._lengths.block_tokens
      ),
      training=training,
    )

  def compute(self, batch: Batch) -> step_trainer.Computed:
    if not self._chunk_size:
      return super().compute(batch)
    chunks = inverse_cloze_chunks.split(batch, self._chunk_size)
    # Compiled for each chunk: XLA would run a whole compiled loop on one core.
    embed = self._embed_chunk
    if self._jit_compile:
      embed = tf.function(embed, jit_compile=True)
    number = 3 if 'hard_title_ids' in batch else 2
    embeddings = inverse_cloze_chunks.embeddings(embed, chunks, number)
    share = 1.0 / self._strategy.num_replicas_in_sync
    with tf.GradientTape() as tape:
      tape.watch(embeddings)
      loss, logs = _loss_and_logs(embeddings, batch.get('is_compared'))
      part = share * loss
    gradients = inverse_cloze_chunks.gradients(
      self._embed_chunk,
      chunks,
      tape.gradient(part, embeddings),
      variables=self._trained_variables,
      jit_compile=self._jit_compile,
    )
    return loss, logs, gradients

  def _embed_chunk(
    self, batch: Batch, number: tf.Tensor
  ) -> tuple[tf.Tensor, ...]:
    # A chunk has the same dropout both times that it is embedded.
    with self._dropout(self.global_step, number):
      return self.embed(batch)


def _loss_and_logs(
  embeddings: Sequence[tf.Tensor], is_compared: Optional[tf.Tensor]
) -> step_trainer.LossAndLogs:
  """Returns loss and logs of one replica's queries."""
  queries, *parts = embeddings
  parts, (first, *_) = zip(*map(_of_all_replicas, parts), strict=True)
  blocks = tf.concat(parts, axis=0)
  log_p = inverse_cloze.in_batch_log_likelihood(
    queries, blocks, first, is_compared
  )
  accuracy = inverse_cloze.in_batch_accuracy(
    queries, blocks, first, is_compared
  )
  return -tf.reduce_mean(log_p), {'log_likelihood': log_p, 'accuracy': accuracy}


def _of_all_replicas(blocks: tf.Tensor) -> tuple[tf.Tensor, int | tf.Tensor]:
  """Returns the global batch [B, D], and the first row of these [B / R, D].

  Each block must get the gradients of every replica's queries: the gradient of
  a sum over replicas is such a sum. The gradient of an `all_gather` has no
  static shape outside TPUs.
  """
  replica = tf.distribute.get_replica_context()
  count = replica.num_replicas_in_sync
  if count == 1:
    return blocks, 0
  number = replica.replica_id_in_sync_group
  is_own = tf.one_hot(number, count, dtype=blocks.dtype)[:, None, None]
  (parts,) = gradients_lib.all_reduce([is_own * blocks])  # [R, B / R, D]
  size = tf.shape(blocks)[0]
  return tf.reshape(parts, [count * size, blocks.shape[-1]]), number * size
