"""Trains the tagger: CoNLL columns -> tagger directory."""

from collections.abc import Iterator, Sequence
import dataclasses
import itertools
import json
import os
from typing import TypedDict, cast

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.corpus import conll
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.index import model_files
from realm_tf.model import strategies
from realm_tf.model import token_tagger
from realm_tf.run import layout
from realm_tf.text import wordpiece
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import step_trainer
from realm_tf.training import taggers

_WIDTH = 16  # Batches are trimmed to a multiple of this.


def run(
  config: config_lib.ExperimentConfig,
  sentences: Sequence[conll.LabeledSentence],
  job: job_lib.Job,
  *,
  vocab_file: str = '',
) -> None:
  """Trains a tagger and writes its directory.

  A BERT as `job.init_from` gives weights, sizes and vocabulary. Without it,
  `config.model.reader_bert` gives the sizes and `vocab_file` the vocabulary.
  """
  arrays: dict[str, np.ndarray] = {}
  model_config = config.model
  if init_from := job.init_from.model_dir:
    opened = model_files.open_model(init_from)
    arrays, model_config = opened.read_params(), opened.config.model
    vocab_file = layout.vocab_file(init_from)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
  bert = dataclasses.replace(
    model_config.reader_bert, vocab_size=tokenizer.vocab_size
  )
  config = dataclasses.replace(
    config, model=dataclasses.replace(model_config, reader_bert=bert)
  )
  job.share(config.tagger.batch_size)  # Checked before the run begins.
  tf_keras.utils.set_random_seed(config.seed)
  names = taggers.label_names(sentences)
  job.begin(config, vocab_file)
  if job.is_chief:
    with tf.io.gfile.GFile(layout.labels_file(job.run_dir), 'w') as file:
      file.write('\n'.join(names) + '\n')
  with job.scope():
    model = token_tagger.TokenTagger(bert, len(names))
    model.load(arrays)
  run_loop = loop.Loop(
    job,
    config.tagger,
    config.seed,
    lambda optimizer: TaggerTrainer(optimizer, model, tokenizer.special_ids),
  )
  dealt = batches(
    sentences, tokenizer, names, experiment=config, share=run_loop.share
  )
  run_loop.run(loop.prefetch(dealt))


def evaluate(
  tagger_dir: str, dev: Sequence[conll.LabeledSentence]
) -> conll.Scores:
  """Scores a tagger's entities like conlleval; writes metrics.json."""
  predicted = taggers.load(tagger_dir).entities([s.text for s in dev])
  gold = [sentence.in_characters() for sentence in dev]
  scores = conll.score(gold, predicted)
  with tf.io.gfile.GFile(os.path.join(tagger_dir, 'metrics.json'), 'w') as file:
    metrics = {'num_sentences': len(dev), **scores._asdict()}
    file.write(json.dumps(metrics) + '\n')
  return scores


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
    taggers.encode(sentence, own, tokenizer, names)
    for sentence, own in zip(sentences, tokens, strict=True)
  ]
  sampler = sampling.Sampler(len(sentences), config.batch_size, experiment.seed)
  length = config.max_tokens - 2
  for step in itertools.count(share.first_step):
    rows = sampler.rows(step)
    ids = share.trim(
      sampling.pad_rows([tokens[row].ids for row in rows], length), _WIDTH
    )
    label_ids = sampling.pad_rows(
      [labels[row] for row in rows], ids.shape[1], taggers.NO_LABEL
    )
    yield cast(Batch, share.take({'ids': ids, 'label_ids': label_ids}))


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
    counts = tf.cast(labels != taggers.NO_LABEL, tf.float32)  # [B, L]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
      tf.maximum(labels, 0), logits
    )
    right = tf.cast(
      tf.argmax(logits, axis=-1, output_type=tf.int32) == labels, tf.float32
    )
    accuracy = strategies.weighted_mean(right * counts, counts)
    loss = strategies.weighted_mean(losses * counts, counts)
    return loss, {'accuracy': 100.0 * accuracy}
