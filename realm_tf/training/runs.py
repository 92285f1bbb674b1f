"""Opens the inputs of a training job: config and corpus directory -> inputs."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.data import block_table
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.text import wordpiece


class Inputs(NamedTuple):
  """Inputs of all jobs."""

  config: config_lib.ExperimentConfig  # With the vocabulary's size.
  corpus_dir: str
  table: block_table.BlockTable
  tokenizer: wordpiece.WordpieceTokenizer
  special_ids: tuple[int, int]  # [CLS] and [SEP].
  ordinary_ids: np.ndarray  # All but [PAD], [MASK] and the like, int32 [n].

  @property
  def vocab_file(self) -> str:
    return layout.vocab_file(self.corpus_dir)

  def changed(self, **sections: Any) -> 'Inputs':
    """Returns the inputs with other sections of the config."""
    return self._replace(config=dataclasses.replace(self.config, **sections))


def open_inputs(config: config_lib.ExperimentConfig, corpus_dir: str) -> Inputs:
  """Opens a corpus and fits `config` to its vocabulary; seeds TensorFlow."""
  tf_keras.utils.set_random_seed(config.seed)
  if config.pretraining.pin_index:
    tf.config.experimental.enable_op_determinism()
  table = block_table.BlockTable.open(corpus_dir)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(corpus_dir)
  )
  config = precision.resolve(config)  # The run's config holds the result.
  config = dataclasses.replace(
    config,
    model=realm_model.with_vocab_size(config.model, tokenizer.vocab_size),
  )
  ordinary = [
    i
    for i, piece in enumerate(tokenizer.vocabulary)
    if not (piece.startswith('[') and piece.endswith(']'))
  ]
  return Inputs(
    config,
    corpus_dir,
    table,
    tokenizer,
    tokenizer.special_ids,
    np.array(ordinary, np.int32),
  )
