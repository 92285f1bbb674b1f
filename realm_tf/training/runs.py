"""Opens the inputs of a training job and creates its run directory.

corpus, config -> [this file] -> inputs, run directory
"""

import dataclasses
import os
from typing import NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.modeling import precision
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.text import wordpiece
from realm_tf.training import params_export
from realm_tf.training import setup as setup_lib


class Inputs(NamedTuple):
  """Inputs of all jobs.

  Attributes:
    config: Config with the vocabulary's size.
    table: The corpus.
    tokenizer: The corpus's tokenizer.
    special_ids: Ids of [CLS] and [SEP].
    ordinary_ids: Ids without [PAD], [MASK] and other special ones, int32.
  """

  config: config_lib.ExperimentConfig
  corpus_dir: str
  table: block_table.BlockTable
  tokenizer: wordpiece.WordpieceTokenizer
  special_ids: tuple[int, int]
  ordinary_ids: np.ndarray


def open_inputs(config: config_lib.ExperimentConfig, corpus_dir: str) -> Inputs:
  """Opens a corpus and fits `config` to its vocabulary; seeds TensorFlow."""
  tf_keras.utils.set_random_seed(config.seed)
  if config.pretraining.pin_index:
    tf.config.experimental.enable_op_determinism()
  table = block_table.BlockTable.open(corpus_dir)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(corpus_dir)
  )
  config = precision.resolve(config)  # The run's config says what was chosen.
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


def check_new(run_dir: str) -> None:
  """Raises UserError if there is a run in `run_dir`."""
  of_runs = layout.params_root(run_dir), layout.checkpoint_dir(run_dir)
  if any(map(tf.io.gfile.exists, of_runs)):
    raise errors.UserError(
      f'The directory must be new. Found a run in {run_dir}. Give another '
      'one, or --resume where the binary has it.'
    )


def start(run_dir: str, inputs: Inputs, setup: setup_lib.Setup) -> None:
  """Makes the run directory; only the chief does.

  Raises:
    UserError: The directory holds a run, and `setup` does not resume.
  """
  if not setup.is_chief:
    return
  if not setup.resume:
    check_new(run_dir)
    params_export.forget_untrained(run_dir)
  elif tf.io.gfile.exists(os.path.join(run_dir, config_files.CONFIG_FILE)):
    for change in config_files.differences(
      config_files.read(run_dir), inputs.config
    ):
      logging.warning('The config changed since this run began: %s.', change)
  if tf.io.gfile.exists(layout.done_file(run_dir)):
    tf.io.gfile.remove(layout.done_file(run_dir))
  model_directory.create(
    run_dir, inputs.config, layout.vocab_file(inputs.corpus_dir)
  )
