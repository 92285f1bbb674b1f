"""One step of the tagger's training: label the words of a batch.

sentences with label ids -> [this file] -> updated parameters
"""

import tensorflow as tf
import tf_keras

from realm_tf.modeling import strategies
from realm_tf.modeling import token_tagger
from realm_tf.records import joining
from realm_tf.tagging import token_labels
from realm_tf.training import step_trainer


class TaggerTrainer(step_trainer.StepTrainer):
  """Minimizes the cross entropy of the words' labels.

  Batches of `tagger_batches` have 'ids' int32 [B, L] and 'label_ids' int32
  [B, L], NO_LABEL where nothing is to be learned.

  Args:
    optimizer: Updates all of the model.
    model: The tagger.
    special_ids: The vocabulary's [CLS] and [SEP].
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: token_tagger.TokenTagger,
    special_ids: tuple[int, int],
  ):
    super().__init__(optimizer, model.trainable_variables)
    self.model = model
    self._special_ids = special_ids

  def loss_and_logs(self, batch):
    tokens = joining.pack_longest(batch['ids'], None, *self._special_ids)
    logits = self.model(tokens, training=True)[:, 1:-1]
    labels = batch['label_ids']
    counts = tf.cast(labels != token_labels.NO_LABEL, tf.float32)  # [B, L]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
      tf.maximum(labels, 0), logits
    )
    right = tf.cast(
      tf.argmax(logits, axis=-1, output_type=tf.int32) == labels, tf.float32
    )
    accuracy = strategies.weighted_mean(right * counts, counts)
    loss = strategies.weighted_mean(losses * counts, counts)
    return loss, {'accuracy': 100.0 * accuracy}
