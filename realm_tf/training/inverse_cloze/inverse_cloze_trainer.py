"""Trains the ICT warm start by one step: a sentence finds its block.

Each replica embeds its part of the batch, and compares its queries with the
blocks of all replicas.
"""

from collections.abc import Mapping

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.objectives import inverse_cloze
from realm_tf.records import joining
from realm_tf.training import gradients as gradients_lib
from realm_tf.training import step_trainer
from realm_tf.training.inverse_cloze import inverse_cloze_chunks

_KINDS = ('', 'hard_')  # Blocks of the queries, and hard negatives.


class InverseClozeTrainer(step_trainer.StepTrainer):
  """Maximizes the in-batch log p(z|x), Lee et al. 2019, Section 4.

  Batches of `inverse_cloze_batches` have 'query_ids' int32 [B, Lx], 'title_ids'
  int32 [B, Lt] and 'body_ids' int32 [B, Lz], wordpieces with zeros after them.
  Batches of `question_pairs` also have 'is_compared' bool [B, N], because some
  blocks of the batch are no negatives of some queries; and 'hard_title_ids' and
  'hard_body_ids' of B further blocks, so that N is 2 B.

  Args:
    optimizer: Updates both towers.
    model: Model with the EMBEDDER part.
    config: Its `chunk_size` divides each replica's part of B.
    lengths: `query_tokens` and `block_tokens`.
    special_ids: The vocabulary's [CLS] and [SEP].
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
      optimizer,
      model.trainable_variables,
      config.jit_compile and model.prefers_xla,
    )
    self.model = model
    self._lengths = lengths
    self._special_ids = special_ids
    self._chunk_size = config.chunk_size

  def loss_and_logs(self, batch):
    return _loss_and_logs(self.embed(batch), batch.get('is_compared'))

  def embed(
    self, batch: Mapping[str, tf.Tensor], training: bool = True
  ) -> tuple[tf.Tensor, ...]:
    """Returns embeddings of queries, blocks and, if any, hard negatives.

    Each is float32 [b, D].
    """
    queries = self.model.embed_queries(
      joining.pack_longest(
        batch['query_ids'], None, *self._special_ids, self._lengths.query_tokens
      ),
      training=training,
    )
    kinds = [kind for kind in _KINDS if f'{kind}title_ids' in batch]
    return queries, *(self._embed_blocks(batch, k, training) for k in kinds)

  def _embed_blocks(self, batch, kind, training):
    return self.model.embed_blocks(
      joining.pack_longest(
        batch[f'{kind}title_ids'],
        batch[f'{kind}body_ids'],
        *self._special_ids,
        self._lengths.block_tokens,
      ),
      training=training,
    )

  def compute(self, batch):
    if not self._chunk_size:
      return super().compute(batch)
    chunks = inverse_cloze_chunks.split(batch, self._chunk_size)
    # Compiled chunk by chunk: of a loop that is compiled as a whole XLA uses
    # one core only.
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

  def _embed_chunk(self, batch, number):
    # Both times that a chunk is embedded it has the same dropout.
    with self._dropout(self.global_step, number):
      return self.embed(batch)


def _loss_and_logs(embeddings, is_compared):
  """Returns those of a replica's queries; see `loss_and_logs`."""
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


def _of_all_replicas(blocks):
  """Returns the global batch [B, D], and where in it these [B / R, D] are.

  The gradient of the sum is a sum, so each block's gradient has what every
  replica's queries want of it. An `all_gather` would say the same, but outside
  TPUs its gradient has no static shape.
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
