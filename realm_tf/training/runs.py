"""What every training job opens, restores and logs: composition with orbit."""

import dataclasses
import json
from typing import NamedTuple, Optional

from absl import logging
import numpy as np
import orbit
import tensorflow as tf
import tf_keras
import tqdm

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.text import wordpiece
from realm_tf.training import params_export
from realm_tf.training import step_trainer


class Inputs(NamedTuple):
  """What all jobs read.

  Attributes:
    config: With the vocabulary's size filled in.
    corpus_dir: Of `table`.
    table: The corpus.
    tokenizer: With the corpus's vocabulary.
    special_ids: Its [CLS] and [SEP].
    ordinary_ids: Its ids without [PAD], [MASK] and the like, int32.
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
  table = block_table.BlockTable.open(corpus_dir)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(corpus_dir)
  )
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
    (tokenizer.cls_id, tokenizer.sep_id),
    np.array(ordinary, np.int32),
  )


def initialize(
  model: realm_model.RealmModel, inputs: Inputs, init_from: Optional[str]
) -> None:
  """Loads the newest parameters of a model directory, as far as they fit.

  Raises:
    UserError: `init_from` is no model directory or has another vocabulary.
  """
  if not init_from:
    return
  directory = model_directory.open_directory(init_from)
  vocabulary = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(init_from)
  )
  model_directory.check_vocabulary(
    init_from, vocabulary.vocabulary_sha256, inputs.table.manifest
  )
  report = model.load(read_params(directory))
  logging.info(
    'From %s: %d variables used; new: %s; left over: %s.',
    directory.params.path,
    len(report.used),
    report.missing,
    report.left_over,
  )


def read_params(
  directory: model_directory.ModelDirectory,
) -> dict[str, np.ndarray]:
  """Reads the newest parameters; UserError if they are damaged."""
  versions.verify(directory.params.path)
  return weights.read(layout.params_file(directory.params.path))


def check_new(run_dir: str) -> None:
  """Raises UserError if there is a run in `run_dir`."""
  if tf.io.gfile.exists(layout.params_root(run_dir)):
    raise errors.UserError(
      f'The directory must be new. Found a run in {run_dir}. Give another '
      'one, or --resume where the binary has it.'
    )


def start(run_dir: str, inputs: Inputs, resume: bool) -> None:
  """Makes the run directory.

  Raises:
    UserError: It holds a run already and is not to be resumed.
  """
  if not resume:
    check_new(run_dir)
  if tf.io.gfile.exists(layout.done_file(run_dir)):
    tf.io.gfile.remove(layout.done_file(run_dir))
  model_directory.create(
    run_dir, inputs.config, layout.vocab_file(inputs.corpus_dir)
  )


def finish(run_dir: str) -> None:
  """Says that nothing more will be published."""
  with tf.io.gfile.GFile(layout.done_file(run_dir), 'w') as file:
    file.write('')


def train(
  trainer: step_trainer.StepTrainer,
  run_dir: str,
  num_steps: int,
  log_every_steps: int,
) -> None:
  """Trains in one go, without checkpoints, and publishes `trainer.model`."""
  controller(trainer, run_dir, num_steps, log_every_steps).train(num_steps)
  params_export.publish(run_dir, num_steps, trainer.model)
  finish(run_dir)


def checkpoint_manager(
  trainer: step_trainer.StepTrainer,
  model: realm_model.RealmModel,
  run_dir: str,
  every_steps: int,
) -> tf.train.CheckpointManager:
  """Keeps parameters, optimizer and step; the last two checkpoints stay."""
  checkpoint = tf.train.Checkpoint(model=model, optimizer=trainer.optimizer)
  return tf.train.CheckpointManager(
    checkpoint,
    layout.checkpoint_dir(run_dir),
    max_to_keep=2,
    step_counter=trainer.global_step,
    checkpoint_interval=every_steps,
  )


def controller(
  trainer: step_trainer.StepTrainer,
  run_dir: str,
  num_steps: int,
  log_every_steps: int,
  manager: Optional[tf.train.CheckpointManager] = None,
) -> orbit.Controller:
  """Returns orbit's loop; logs to TensorBoard, metrics.jsonl and a bar."""
  bar = tqdm.tqdm(
    total=num_steps,
    initial=int(trainer.global_step.numpy()),
    unit='step',
    mininterval=1,
  )

  def log(output):
    step = int(trainer.global_step.numpy())
    row = {name: round(float(value), 5) for name, value in output.items()}
    with tf.io.gfile.GFile(layout.metrics_file(run_dir), 'a') as file:
      file.write(json.dumps({'step': step, **row}) + '\n')
    bar.update(step - bar.n)
    bar.set_postfix_str(_short(row))

  return orbit.Controller(
    global_step=trainer.global_step,
    trainer=trainer,
    train_actions=[log],
    steps_per_loop=log_every_steps,
    checkpoint_manager=manager,
    summary_dir=layout.summary_dir(run_dir),
  )


def _short(row):
  names = ('loss', 'accuracy', 'marginal_retrieval_utility', 'exact_match')
  return ', '.join(f'{name} {row[name]:.3g}' for name in names if name in row)
