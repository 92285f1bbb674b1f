"""One step of the ICT warm start: a sentence finds its block in the batch."""

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.objectives import inverse_cloze
from realm_tf.records import joining
from realm_tf.training import step_trainer


class InverseClozeTrainer(step_trainer.StepTrainer):
  """Maximizes the in-batch log p(z|x), Lee et al. 2019, Section 4.

  Args:
    batches: 'query_ids' int32 [B, Lx], 'title_ids' int32 [B, Lt], 'body_ids'
      int32 [B, Lz]: wordpieces with zeros behind them; see
      `inverse_cloze_batches`.
    optimizer: Updates both towers.
    model: With the EMBEDDER part.
    lengths: `block_tokens`.
    special_ids: The vocabulary's [CLS] and [SEP].
  """

  def __init__(
    self,
    batches,
    optimizer,
    model: realm_model.RealmModel,
    lengths: config_lib.LengthConfig,
    special_ids: tuple[int, int],
  ):
    super().__init__(batches, optimizer, model.trainable_variables)
    self.model = model
    self._lengths = lengths
    self._special_ids = special_ids

  def loss_and_logs(self, batch):
    queries = self.model.embed_queries(
      joining.pack_longest(
        batch['query_ids'], None, *self._special_ids, self._lengths.query_tokens
      ),
      training=True,
    )  # [B, D]
    blocks = self.model.block_embedder(
      joining.pack_longest(
        batch['title_ids'],
        batch['body_ids'],
        *self._special_ids,
        self._lengths.block_tokens,
      ),
      training=True,
    )  # [B, D]
    log_p = inverse_cloze.in_batch_log_likelihood(queries, blocks)
    accuracy = inverse_cloze.in_batch_accuracy(queries, blocks)
    return -tf.reduce_mean(log_p), {
      'log_likelihood': log_p,
      'accuracy': accuracy,
    }
