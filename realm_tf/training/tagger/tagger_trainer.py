"""Trains the tagger: batches of labeled sentences, and the step's loss."""

from collections.abc import Iterator, Sequence
from typing import TypedDict, cast

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.corpus import conll
from realm_tf.modeling import strategies
from realm_tf.modeling import token_tagger
from realm_tf.records import joining
from realm_tf.records import sampling
from realm_tf.tagging import token_labels
from realm_tf.text import wordpiece
from realm_tf.training import step_trainer

_WIDTH = 16  # Batches are trimmed to a multiple of this.


class Batch(TypedDict):
  """Sentences of a step, int32 [B, L] each."""

  ids: np.ndarray | tf.Tensor  # Wordpieces, zero-padded.
  label_ids: np.ndarray | tf.Tensor  # NO_LABEL: no loss at this wordpiece.


def batches(
  sentences: Sequence[conll.LabeledSentence],
  tokenizer: wordpiece.WordpieceTokenizer,
  names: Sequence[str],
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[Batch]:
  """Yields endless batches, functions of seed and step; `names` of labels."""
  config = experiment.tagger
  tokens = tokenizer.tokenize_batch([s.text for s in sentences])
  labels = [
    token_labels.encode(sentence, own, tokenizer, names)
    for sentence, own in zip(sentences, tokens, strict=True)
  ]
  sampler = sampling.Sampler(len(sentences), config.batch_size, experiment.seed)
  length, step = config.max_tokens - 2, share.first_step
  while True:
    rows = sampler.rows(step)
    ids = share.trim(
      sampling.pad_rows([tokens[row].ids for row in rows], length), _WIDTH
    )
    label_ids = sampling.pad_rows(
      [labels[row] for row in rows], ids.shape[1], token_labels.NO_LABEL
    )
    yield cast(Batch, share.take({'ids': ids, 'label_ids': label_ids}))
    step += 1


class TaggerTrainer(step_trainer.StepTrainer[Batch]):
  """Minimizes the mean cross entropy of the labels."""

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: token_tagger.TokenTagger,
    special_ids: tuple[int, int],
  ):
    super().__init__(optimizer, model)
    self._special_ids = special_ids

  def loss_and_logs(self, batch: Batch) -> step_trainer.LossAndLogs:
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
