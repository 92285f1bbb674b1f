"""Trains a tagger: CoNLL columns -> tagger directory."""

from collections.abc import Sequence
import dataclasses
import json
import os

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.corpus import conll
from realm_tf.index import model_files
from realm_tf.modeling import token_tagger
from realm_tf.rundir import layout
from realm_tf.tagging import bert_tagger
from realm_tf.tagging import token_labels
from realm_tf.text import wordpiece
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import prefetch
from realm_tf.training.tagger import tagger_trainer


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
  if init_from := job.init_from.model_dir:
    opened = model_files.open_model(init_from)
    arrays = opened.read_params()
    config = dataclasses.replace(config, model=opened.config.model)
    vocab_file = layout.vocab_file(init_from)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
  config = _with_vocab_size(config, tokenizer.vocab_size)
  job.share(config.tagger.batch_size)  # Checked before the run begins.
  tf_keras.utils.set_random_seed(config.seed)
  names = token_labels.label_names(sentences)
  job.begin(config, vocab_file)
  if job.is_chief:
    with tf.io.gfile.GFile(layout.labels_file(job.run_dir), 'w') as file:
      file.write('\n'.join(names) + '\n')
  with job.scope():
    model = token_tagger.TokenTagger(config.model.reader_bert, len(names))
    model.load(arrays)
  run_loop = loop.Loop(
    job,
    config.tagger,
    config.seed,
    lambda optimizer: tagger_trainer.TaggerTrainer(
      optimizer, model, tokenizer.special_ids
    ),
  )
  run_loop.run(
    prefetch.prefetch(
      tagger_trainer.batches(
        sentences, tokenizer, names, experiment=config, share=run_loop.share
      )
    )
  )


def _with_vocab_size(
  config: config_lib.ExperimentConfig, vocab_size: int
) -> config_lib.ExperimentConfig:
  bert = dataclasses.replace(config.model.reader_bert, vocab_size=vocab_size)
  model = dataclasses.replace(config.model, reader_bert=bert)
  return dataclasses.replace(config, model=model)


def evaluate(
  tagger_dir: str, dev: Sequence[conll.LabeledSentence]
) -> conll.Scores:
  """Scores a tagger's entities like conlleval; writes metrics.json."""
  predicted = bert_tagger.load(tagger_dir).entities([s.text for s in dev])
  gold = [sentence.in_characters() for sentence in dev]
  scores = conll.score(gold, predicted)
  with tf.io.gfile.GFile(os.path.join(tagger_dir, 'metrics.json'), 'w') as file:
    metrics = {'num_sentences': len(dev), **scores._asdict()}
    file.write(json.dumps(metrics) + '\n')
  return scores
