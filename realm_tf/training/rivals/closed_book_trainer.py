"""One step of the closed-book model: write the answer, wordpiece by wordpiece.

questions or masked sentences with answers -> [this file] -> updated parameters
"""

import tensorflow as tf
import tf_keras

from realm_tf.modeling import realm_model
from realm_tf.modeling import seq2seq
from realm_tf.modeling import strategies
from realm_tf.training import step_trainer


class ClosedBookTrainer(step_trainer.StepTrainer):
  """Maximizes log p(y|x) of an encoder-decoder, the mean over wordpieces.

  Batches are those of `closed_book_batches`.

  Args:
    optimizer: Updates all of the encoder-decoder.
    model: Model with the SEQ2SEQ part.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
  ):
    super().__init__(optimizer, model.seq2seq.trainable_variables)
    self.model = model

  def loss_and_logs(self, batch):
    targets = batch['target_ids']  # [B, Ly]
    logits = self.model.seq2seq.logits(batch['input_ids'], targets)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    counts = tf.cast(targets != seq2seq.PAD_ID, tf.float32)
    best = tf.argmax(logits, axis=-1, output_type=tf.int32)
    is_right = (best == targets) | (counts == 0)
    right = tf.cast(tf.reduce_all(is_right, axis=-1), tf.float32)
    loss = strategies.weighted_mean(losses * counts, counts)
    return loss, {'answers_right': 100.0 * right}
