"""ICT on what pre-training retrieves: a sentence of a candidate must find it.

  candidates of a batch -> [this file] -> 'cloze_ids' -> their loss

The candidates are embedded anyway, so this costs the embedding of sentences
only, and blocks retrieved for one query are hard negatives of each other.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.objectives import inverse_cloze
from realm_tf.records import block_table
from realm_tf.records import held_out
from realm_tf.training import inverse_cloze_batches


class Sentences:
  """Takes a sentence of each candidate, which stays in its block.

  Args:
    table: Blocks; those of held-out articles give no sentence.
    ordinary_ids: Wordpieces for noise.
    experiment: Noise and dropped words are those of `inverse_cloze`.
  """

  def __init__(
    self,
    table: block_table.BlockTable,
    ordinary_ids: np.ndarray,
    experiment: config_lib.ExperimentConfig,
  ):
    self._table, self._ordinary_ids = table, ordinary_ids
    self._lengths = experiment.lengths
    self._config = dataclasses.replace(
      experiment.inverse_cloze,
      remove_rate=0.0,
      query_tokens=experiment.lengths.query_tokens,
    )
    self._is_held_out = held_out.blocks(table, experiment.held_out.share)

  def __call__(
    self, ids: np.ndarray, rng: np.random.Generator, own: slice, size: int
  ) -> np.ndarray:
    """Returns sentences, int32 [b, N, Lx]; zeros where there is no block.

    Args:
      ids: Block ids, int [b, N], negative where there is none.
      own: Rows of the whole batch, of `size`, that `ids` are.
    """
    number = ids.shape[1]
    own = slice(own.start * number, own.stop * number)
    size *= number
    draws = rng.random([size, 2])[own]
    rows = np.maximum(ids.ravel(), 0)
    _, _, queries = inverse_cloze_batches.take_sentences(
      self._table, rows, draws, self._config, self._lengths
    )
    queries[(ids.ravel() < 0) | self._is_held_out[rows]] = 0
    queries = inverse_cloze_batches.change(
      queries, self._ordinary_ids, self._config, rng, own, size
    )
    return queries.reshape([*ids.shape, -1])


def loss(
  queries: tf.Tensor, blocks: tf.Tensor, ids: tf.Tensor, has_query: tf.Tensor
) -> tf.Tensor:
  """Returns -log p(z|x) of each sentence's own block among all of them, [N].

  Args:
    queries: Embeddings of sentences, float32 [N, D].
    blocks: Embeddings of their blocks, float32 [N, D].
    ids: Block ids, int32 [N]. A block that comes again is no negative of
      itself, and neither is a place without a block.
    has_query: Which sentences there are, bool [N]; the others' loss is 0.
  """
  is_own = tf.eye(tf.shape(ids)[0], dtype=tf.bool)
  is_other = (ids[:, None] != ids) & (ids >= 0)
  log_p = inverse_cloze.in_batch_log_likelihood(
    queries, blocks, is_compared=is_own | is_other
  )
  return tf.where(has_query, -log_p, 0.0)
