"""ICT on the candidates of pre-training: a sentence must find its candidate.

Pre-training embeds the candidates anyway, so only embedding the sentences costs
time. The candidates of one query are hard negatives of each other.
"""

from collections.abc import Iterator
import dataclasses

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.objectives import inverse_cloze
from realm_tf.records import block_table
from realm_tf.records import cloze_sentences
from realm_tf.records import held_out
from realm_tf.records import sampling
from realm_tf.training.pretraining import pretraining_batches

_WIDTH = 64  # Batches are trimmed to multiples of it: each shape is traced.
_USE = 1  # Random stream 1 of a step; stream 0 draws the masks.


def with_sentences(
  batches: Iterator[pretraining_batches.Batch],
  table: block_table.BlockTable,
  ordinary_ids: np.ndarray,
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[pretraining_batches.Batch]:
  """Adds 'cloze_ids', int32 [b, K - 1, Lx], to batches of pre-training.

  A sentence stays in its block; `experiment.inverse_cloze` sets dropped words
  and noise (from `ordinary_ids`). Padding and held-out articles get zeros.
  """
  config = dataclasses.replace(
    experiment.inverse_cloze,
    remove_rate=0.0,
    query_tokens=experiment.lengths.query_tokens,
  )
  is_held_out = held_out.blocks(table, experiment.held_out.share)
  size = experiment.pretraining.batch_size
  for step, batch in enumerate(batches, share.first_step):
    ids = batch['candidate_ids'][:, 1:]
    rng = sampling.step_rng(experiment.seed, step, _USE)
    own, number = share.rows(size * ids.shape[1]), size * ids.shape[1]
    rows = np.maximum(ids.ravel(), 0)
    _, _, queries = cloze_sentences.take(
      table, rows, rng.random([number, 2])[own], config, experiment.lengths
    )
    queries[(ids.ravel() < 0) | is_held_out[rows]] = 0
    queries = cloze_sentences.change(
      queries, ordinary_ids, config, rng, own=own, size=number
    )
    queries = share.trim(queries, _WIDTH).reshape([*ids.shape, -1])
    yield {**batch, 'cloze_ids': queries}


def loss(
  queries: tf.Tensor, blocks: tf.Tensor, ids: tf.Tensor, *, has_query: tf.Tensor
) -> tf.Tensor:
  """Returns -log p(z|x) of each sentence's own block among all blocks, [N].

  Args:
    queries: Embeddings of sentences, float32 [N, D].
    blocks: Embeddings of their blocks, float32 [N, D].
    ids: Block ids, int32 [N]. Padding and other copies of a sentence's own
      block are no negatives.
    has_query: False gives the loss 0, bool [N].
  """
  is_own = tf.eye(tf.shape(ids)[0], dtype=tf.bool)
  is_other = (ids[:, None] != ids) & (ids >= 0)
  log_p = inverse_cloze.in_batch_log_likelihood(
    queries, blocks, is_compared=is_own | is_other
  )
  return tf.where(has_query, -log_p, 0.0)
