"""Trains REALM: one step of pre-training.

The whole step compiles, because queries arrive with their K candidate blocks.
The stale index only chose the candidates; the step computes p(z|x) from the
current parameters (Section 3.3).
"""

from typing import NamedTuple

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.training import step_trainer


class _Blocks(NamedTuple):
  title_ids: tf.Tensor
  body_ids: tf.Tensor
  is_null: bool


class PretrainingTrainer(step_trainer.StepTrainer):
  """Maximizes log p(y|x) of the masked tokens, Eq. 1.

  With `embedder_rate_scale` 0 only the reader learns, and the retriever has no
  dropout: a reader that cannot use blocks yet teaches the retriever to prefer
  the null block, the reverse of the cold start in Section 3.4.

  Args:
    model: Model with MASKED_LM and, unless p(z|x) is uniform, EMBEDDER.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    config: config_lib.ExperimentConfig,
    *,
    special_ids: tuple[int, int],
  ):
    scale = config.pretraining.optimizer.embedder_rate_scale
    self._trains_retriever = scale > 0
    frozen = () if self._trains_retriever else realm_model.EMBEDDER_PREFIXES
    super().__init__(
      optimizer,
      model,
      [v for v in model.trainable_variables if not v.name.startswith(frozen)],
      jit_compile=config.pretraining.jit_compile and model.prefers_xla,
    )
    self._config = config.pretraining
    self._is_uniform = (
      self._config.candidates == 'recurring_span'
      or self._config.num_candidates == 1
    )
    self._lengths = config.lengths
    self._special_ids = special_ids

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    scores, token_log_probs, embeddings = self._score(batch, training=True)
    mask = batch['token_mask']
    log_p_y_given_z = objectives.query_log_likelihood(
      token_log_probs, mask
    )  # [B, K]
    log_p_y = objectives.marginal_log_likelihood(
      scores, token_log_probs, mask
    )  # [B]
    p_z = tf.nn.softmax(scores)
    utility = objectives.block_utility(log_p_y_given_z)
    logs = {
      'log_likelihood': log_p_y,
      'marginal_retrieval_utility': objectives.marginal_utility(
        log_p_y, log_p_y_given_z
      ),
      'block_retrieval_utility': tf.reduce_sum(p_z * utility, axis=-1),
      'p_null': p_z[:, objectives.NULL_POSITION],
      'entropy': -tf.reduce_sum(tf.math.xlogy(p_z, p_z), axis=-1),
    }
    if self._config.objective == 'per_query':
      loss = -tf.reduce_mean(log_p_y)
    else:
      log_p = objectives.per_token_log_likelihood(scores, token_log_probs, mask)
      loss = strategies.weighted_mean(-log_p, mask)
    if self._config.inverse_cloze_weight:
      cloze = self._cloze_loss(batch, embeddings)
      logs['cloze_loss'] = cloze
      loss += self._config.inverse_cloze_weight * tf.reduce_mean(cloze)
    return loss, logs

  def score(self, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns f(x,z), [B, K], and log p(y_j|z,x), [B, K, M]."""
    return self._score(batch, training=False)[:2]

  def _score(
    self, batch: dict[str, tf.Tensor], training: bool
  ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
    """Returns `score`, and the embeddings of all `_parts`."""
    parts = self._parts(batch)
    token_log_probs = tf.concat(
      [self._read(batch, part, training) for part in parts], axis=1
    )
    scores, embeddings = self._retrieval_scores(
      batch, parts, training and self._trains_retriever
    )
    scores = tf.where(batch['is_real'], scores, interfaces.NO_SCORE)
    return scores, token_log_probs, embeddings

  def _parts(self, batch: dict[str, tf.Tensor]) -> list[_Blocks]:
    """Separates the null block from the others.

    The null block is empty and the same for all queries. At full width and once
    for each query, it would take 1/K of the step.
    """
    titles, bodies = batch['title_ids'], batch['body_ids']
    parts = [_Blocks(titles, bodies, False)]
    if self._config.candidates != 'recurring_span':
      parts = [
        _Blocks(titles[:, :1, :1], bodies[:, :1, :1], True),
        _Blocks(titles[:, 1:], bodies[:, 1:], False),
      ]
    return [part for part in parts if part.body_ids.shape[1]]

  def _read(
    self, batch: dict[str, tf.Tensor], blocks: _Blocks, training: bool
  ) -> tf.Tensor:
    """Returns log p(y_j|z,x), [B, K, M]."""
    joint = joining.pack_pairs(
      batch['query_ids'],
      blocks.body_ids,
      *self._special_ids,
      self._lengths.joint_tokens,
    )
    return self.model.knowledge_encoder(
      joint, batch['masked_positions'] + 1, batch['gold_ids'], training=training
    )  # + 1: [CLS] comes first.

  def _retrieval_scores(
    self, batch: dict[str, tf.Tensor], parts: list[_Blocks], training: bool
  ) -> tuple[tf.Tensor, list[tf.Tensor]]:
    if self._is_uniform:
      return tf.zeros(batch['body_ids'].shape[:2]), []
    queries = self._embed_queries(batch['query_ids'], training)  # [B, D]
    embeddings = [self._embed(part, training) for part in parts]
    scores = [tf.linalg.matvec(blocks, queries) for blocks in embeddings]
    return self.model.with_null_bias(tf.concat(scores, axis=1)), embeddings

  def _cloze_loss(
    self, batch: dict[str, tf.Tensor], embeddings: list[tf.Tensor]
  ) -> tf.Tensor:
    """Returns the ICT loss of every candidate but the null block, [B*(K-1)]."""
    ids = batch['cloze_ids']
    query_ids = tf.reshape(ids, [-1, ids.shape[-1]])
    queries = self._embed_queries(query_ids, training=True)
    return cloze_loss(
      queries,
      tf.reshape(embeddings[1], [-1, queries.shape[-1]]),
      tf.reshape(batch['candidate_ids'][:, 1:], [-1]),
      has_query=tf.reduce_any(query_ids > 0, axis=-1),
    )

  def _embed_queries(self, query_ids: tf.Tensor, training: bool) -> tf.Tensor:
    return self.model.embed_queries(
      joining.pack_longest(
        query_ids, None, *self._special_ids, self._lengths.query_tokens
      ),
      training=training,
    )

  def _embed(self, blocks: _Blocks, training: bool) -> tf.Tensor:
    """Returns embeddings [B, K, D]; [1, 1, D] for the null block."""
    rows = slice(1) if blocks.is_null else slice(None)
    return self.model.embed_blocks(
      joining.pack_longest(
        blocks.title_ids[rows],
        blocks.body_ids[rows],
        *self._special_ids,
        self._lengths.block_tokens,
      ),
      training=training,
    )


def cloze_loss(
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
  log_p = objectives.in_batch_log_likelihood(
    queries, blocks, is_compared=is_own | is_other
  )
  return tf.where(has_query, -log_p, 0.0)
