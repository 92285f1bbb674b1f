"""Trains a tagger: CoNLL columns -> tagger directory."""

from collections.abc import Sequence
import dataclasses
import functools
import json
import os
from typing import NamedTuple, Optional

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.corpus import conll
from realm_tf.corpus import entity_labels
from realm_tf.index import model_files
from realm_tf.modeling import token_tagger
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.tagging import bert_tagger
from realm_tf.tagging import token_labels
from realm_tf.text import wordpiece
from realm_tf.training import loop
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib
from realm_tf.training import tagger_batches
from realm_tf.training import tagger_trainer


class TaggerJob(NamedTuple):
  """Training data, config and first weights.

  Attributes:
    config: Config with the vocabulary's size.
    init_arrays: Weights to start from, by name; {} for random ones.
  """

  config: config_lib.ExperimentConfig
  vocab_file: str
  tokenizer: wordpiece.WordpieceTokenizer
  train: Sequence[conll.LabeledSentence]
  init_arrays: dict


def prepare(
  config: config_lib.ExperimentConfig,
  train: Sequence[conll.LabeledSentence],
  vocab_file: Optional[str],
  init_from: Optional[str],
) -> TaggerJob:
  """Finds vocabulary, sizes and first weights.

  Args:
    config: Its `model.reader_bert` gives the sizes, without `init_from`.
    vocab_file: Wordpieces; ignored with `init_from`.
    init_from: Model directory whose BERT the tagger starts from.
  """
  arrays = {}
  if init_from:
    directory, _, arrays = model_files.read(init_from)
    config = dataclasses.replace(config, model=directory.config.model)
    vocab_file = layout.vocab_file(init_from)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
  bert = dataclasses.replace(
    config.model.reader_bert, vocab_size=tokenizer.vocab_size
  )
  model = dataclasses.replace(config.model, reader_bert=bert)
  return TaggerJob(
    dataclasses.replace(config, model=model),
    vocab_file,
    tokenizer,
    train,
    arrays,
  )


def run(
  job: TaggerJob, output_dir: str, setup: setup_lib.Setup = setup_lib.ALONE
) -> None:
  """Trains a tagger and writes its directory.

  Raises:
    UserError: The directory holds a run, and `setup` does not resume.
  """
  config, tokenizer = job.config, job.tokenizer
  setup.share(config.tagger.batch_size)  # Checks it before the run begins.
  tf_keras.utils.set_random_seed(config.seed)
  names = token_labels.label_names(job.train)
  if setup.is_chief:
    _begin(job, output_dir, names, setup)
  with setup.scope():
    model = token_tagger.TokenTagger(config.model.reader_bert, len(names))
    model.load(job.init_arrays)
  run_loop = loop.create(
    lambda optimizer: tagger_trainer.TaggerTrainer(
      None, optimizer, model, tokenizer.special_ids
    ),
    config.seed,
    output_dir,
    config.tagger,
    setup,
  )
  run_loop.feed(
    functools.partial(
      tagger_batches.batches, job.train, tokenizer, names, config
    )
  )
  run_loop.run()


def _begin(job, output_dir, names, setup):
  """Writes config, vocabulary and labels."""
  if not setup.resume:
    runs.check_new(output_dir)
  model_directory.create(output_dir, job.config, job.vocab_file)
  with tf.io.gfile.GFile(layout.labels_file(output_dir), 'w') as file:
    file.write('\n'.join(names) + '\n')


def evaluate(
  tagger_dir: str, dev: Sequence[conll.LabeledSentence]
) -> entity_labels.Scores:
  """Scores a tagger by entity, as conlleval does; writes metrics.json."""
  predicted = bert_tagger.load(tagger_dir).entities([s.text for s in dev])
  gold = [
    [
      entity_labels.Entity(*span, entity.type)
      for span, entity in zip(s.character_spans(), s.entities, strict=True)
    ]
    for s in dev
  ]
  scores = entity_labels.score(gold, predicted)
  with tf.io.gfile.GFile(os.path.join(tagger_dir, 'metrics.json'), 'w') as file:
    metrics = {'num_sentences': len(dev), **scores._asdict()}
    file.write(json.dumps(metrics) + '\n')
  return scores
