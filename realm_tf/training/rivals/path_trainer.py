"""One step of path retrieval: rewards all paths that end at an answer.

questions + seeds + blocks behind them -> [this file] -> Embed_input, scorer
"""

import tensorflow as tf
import tf_keras

from realm_tf.modeling import realm_model
from realm_tf.objectives import span_likelihood
from realm_tf.records import joining
from realm_tf.training import step_trainer


class PathTrainer(step_trainer.StepTrainer):
  """Maximizes log p(y|x), the log of the sum of p(path|x) of paths to y.

  No path need be known: a question that links help with has its probability on
  the paths that end at a block with the answer.

  Batches of `path_batches` have 'question_ids' int32 [B, Lq],
  'block_embeddings' float32 [B, F, 1 + M, D], 'has_answer' and 'is_compared'
  bool [B, F, 1 + M]; see `path_scorer.PathScorer`.

  Args:
    optimizer: Updates Embed_input and the scorer.
    model: Model with the EMBEDDER and PATH parts.
    special_ids: The vocabulary's [CLS] and [SEP].
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    special_ids: tuple[int, int],
  ):
    variables = [
      *model.query_embedder.trainable_variables,
      *model.path_scorer.trainable_variables,
    ]
    if model.log_temperature is not None:
      variables.append(model.log_temperature)
    super().__init__(optimizer, variables)
    self.model = model
    self._special_ids = special_ids

  def loss_and_logs(self, batch):
    queries = self.model.embed_queries(
      joining.pack_longest(batch['question_ids'], None, *self._special_ids),
      training=True,
    )  # [B, D]
    paths = self.model.path_scorer(
      queries, batch['block_embeddings'], batch['is_compared']
    )  # [B, F, 1 + M]
    flat = tf.reshape(paths, [tf.shape(paths)[0], -1])
    is_right = tf.reshape(batch['has_answer'], tf.shape(flat))
    likelihood = span_likelihood.early_update_log_likelihood(flat, is_right)
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    found = tf.gather(is_right, best, batch_dims=1)
    return -tf.reduce_mean(likelihood), {
      'path_log_likelihood': likelihood,
      'best_path_has_answer': 100.0 * tf.cast(found, tf.float32),
      'a_path_has_answer': 100.0
      * tf.cast(tf.reduce_any(is_right, axis=-1), tf.float32),
    }
