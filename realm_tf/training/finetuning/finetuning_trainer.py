"""Trains open-domain QA: one step reads blocks and rewards answer spans."""

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.model import exclusion
from realm_tf.model import realm_model
from realm_tf.model import span_likelihood
from realm_tf.training import step_trainer
from realm_tf.training.finetuning import finetuning_batches

Batch = finetuning_batches.Batch


class FinetuningTrainer(step_trainer.StepTrainer[Batch]):
  """Maximizes the answers' span likelihood plus the early-update likelihood.

  Section 3.2 of Guu et al. 2020 with ORQA's losses; a term without a positive
  is zero. `null_spans` adds null spans to the softmax over spans. Blocks
  have the index's embeddings. An Embed_doc that is not frozen embeds the K
  blocks to read again, and learns from them. The model must have the EMBEDDER
  and SPAN parts.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    config: config_lib.ExperimentConfig,
    *,
    special_ids: tuple[int, int],
  ):
    super().__init__(
      optimizer,
      model,
      _trained(model, config.finetuning),
      jit_compile=config.finetuning.jit_compile and model.prefers_xla,
    )
    self._config = config.finetuning
    self._lengths = config.lengths
    self._special_ids = special_ids

  def loss_and_logs(self, batch: Batch) -> step_trainer.LossAndLogs:
    scores = self._retrieval_scores(batch)  # [B, N]
    is_hard = self._config.objective == 'hard_em'
    early = span_likelihood.early_update_log_likelihood(
      scores, batch['has_answer'], is_hard
    )
    body_length = batch['body_ids'].shape[2]
    joint = joining.pack_pairs(
      batch['question_ids'],
      batch['body_ids'],
      *self._special_ids,
      self._config.joint_tokens,
      batch['title_ids'] if self._config.read_titles else None,
    )
    spans, null = self.model.span_reader(joint, body_length, training=True)
    read_scores = tf.gather(scores, batch['read_rows'], batch_dims=1)
    spans += read_scores[:, :, None, None]  # [B, K, Lz, W]
    flat = tf.reshape(spans, [tf.shape(spans)[0], -1])
    is_answer = tf.reshape(batch['is_answer'], tf.shape(flat))
    answerable = tf.reduce_any(is_answer, axis=-1)
    if self._config.null_spans:
      flat, is_answer = span_likelihood.with_null_spans(
        flat, null + read_scores, is_answer, batch['is_impossible']
      )
    reading = span_likelihood.span_log_likelihood(flat, is_answer, is_hard)
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    correct = tf.gather(is_answer, best, batch_dims=1)
    return -tf.reduce_mean(early + reading), {
      'early_update_log_likelihood': early,
      'span_log_likelihood': reading,
      'exact_match': 100.0 * tf.cast(correct, tf.float32),
      'answer_in_read_blocks': 100.0 * tf.cast(answerable, tf.float32),
      'answer_in_searched_blocks': 100.0
      * tf.cast(tf.reduce_any(batch['has_answer'], axis=-1), tf.float32),
    }

  def _retrieval_scores(self, batch: Batch) -> tf.Tensor:
    """Returns f(x,z), float32 [B, N]; NO_SCORE without `is_compared`."""
    if 'fixed_scores' in batch:
      return tf.where(
        batch['is_compared'], batch['fixed_scores'], exclusion.NO_SCORE
      )
    queries = self.model.embed_queries(
      joining.pack_longest(batch['question_ids'], None, *self._special_ids),
      training=not self._config.freeze_query_tower,
    )  # [B, D]
    scores = tf.einsum('bd,bnd->bn', queries, batch['block_embeddings'])
    if not self._config.freeze_block_tower:
      scores = self._with_fresh(scores, queries, batch)
    return tf.where(batch['is_compared'], scores, exclusion.NO_SCORE)

  def _with_fresh(
    self, scores: tf.Tensor, queries: tf.Tensor, batch: Batch
  ) -> tf.Tensor:
    """Returns f(x,z), [B, N], with new scores of the K blocks to read."""
    blocks = self.model.embed_blocks(
      joining.pack_longest(
        batch['title_ids'],
        batch['body_ids'],
        *self._special_ids,
        self._lengths.block_tokens,
      ),
      training=True,
    )  # [B, K, D]
    fresh = tf.einsum('bd,bkd->bk', queries, blocks)
    place = tf.one_hot(batch['read_rows'], scores.shape[1])  # [B, K, N]
    is_read = tf.reduce_any(place > 0, axis=1)
    return tf.where(is_read, tf.einsum('bk,bkn->bn', fresh, place), scores)


def _trained(
  model: realm_model.RealmModel, config: config_lib.FinetuningConfig
) -> list[tf.Variable]:
  variables = [*model.span_reader.trainable_variables]
  if not config.freeze_block_tower:
    variables = [*model.block_embedder.trainable_variables, *variables]
  if not config.freeze_query_tower:
    variables = [*model.query_embedder.trainable_variables, *variables]
    if model.log_temperature is not None:
      variables.append(model.log_temperature)
  return variables
