"""A training job: its inputs, run directory, first weights and devices.

Each kind of job is a function `run(inputs, examples, job, ...)`: it checks the
examples, creates its model with the job, and runs a `loop.Loop` of its trainer
on its batches. So a user's mistake in the examples leaves no run directory.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import hashlib
import operator
import os
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import json_text
from realm_tf.config import config_files
from realm_tf.data import block_table
from realm_tf.data import sampling
from realm_tf.index import model_files
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import outputs
from realm_tf.run import run_lock
from realm_tf.run import versions
from realm_tf.text import wordpiece

# Fields that parts of one run may have different; others make another run.
_MAY_CHANGE = (
  *('num_steps', 'log_every_steps', 'checkpoint_every_steps'),
  *('train_dtype', 'embed_dtype', 'jit_compile', 'eval_batch_size'),
)
# Fields of `BertConfig` that decide the shapes of weights.
_SIZES = (
  'vocab_size',
  'hidden_size',
  'num_layers',
  'num_heads',
  'intermediate_size',
  'max_positions',
)
_NO_DATA: Mapping[str, Any] = {}


class Inputs(NamedTuple):
  """Inputs of all jobs."""

  config: config_lib.ExperimentConfig  # With the vocabulary's size.
  table: block_table.BlockTable
  tokenizer: wordpiece.WordpieceTokenizer
  ordinary_ids: np.ndarray  # All but [PAD], [MASK] and the like, int32 [n].

  @property
  def vocab_file(self) -> str:
    return layout.vocab_file(self.table.corpus_dir)

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
  return Inputs(config, table, tokenizer, np.array(ordinary, np.int32))


class InitFrom(NamedTuple):
  """Model directories that a job starts from; None means random weights.

  The second one combines the embedders of a warm start with another reader.
  """

  model_dir: str | None = None  # Gives all parameters that fit.
  reader_dir: str | None = None  # Gives the reader and its heads instead.


class Job(NamedTuple):
  """Run directory, first weights and devices of a job."""

  run_dir: str
  init_from: InitFrom = InitFrom()
  devices: tf.distribute.Strategy | None = None  # None: one device.
  resume: bool = False

  @property
  def strategy(self) -> tf.distribute.Strategy:
    return self.devices or tf.distribute.get_strategy()

  @property
  def is_chief(self) -> bool:
    """Whether this process writes the run directory."""
    return strategies.worker(self.strategy) == 0

  def share(self, batch_size: int) -> sampling.Share:
    """Returns this process's share; UserError if replicas get unequal parts."""
    number = self.strategy.num_replicas_in_sync
    if batch_size % number:
      raise errors.UserError(
        'A batch must be divided equally. Found a batch of '
        f'{batch_size} and {number} replicas. Set batch_size to a multiple.'
      )
    return sampling.Share(
      strategies.worker(self.strategy),
      strategies.num_workers(self.strategy),
      has_fixed_shapes=isinstance(self.strategy, tf.distribute.TPUStrategy),
    )

  def begin(
    self,
    config: config_lib.ExperimentConfig,
    vocab_file: str,
    data: Mapping[str, Any] = _NO_DATA,
  ) -> None:
    """Makes the run directory, in the chief.

    Args:
      data: What the job learns from, by name; their `repr` tells them apart.

    Raises:
      UserError: The directory holds a run, and the job does not resume it; or
        another training writes it.
    """
    if not self.is_chief:
      return
    if not self.resume:
      outputs.check_new(self.run_dir)
    run_lock.hold(self.run_dir)
    digests = {
      name: hashlib.sha256(repr(value).encode(errors='replace')).hexdigest()
      for name, value in data.items()
    }
    if self.resume:
      self._check_same_run(config, digests)
    else:  # A failed start may have left them.
      outputs.remove([layout.untrained_file(self.run_dir)])
    outputs.remove([layout.done_file(self.run_dir)])
    model_files.create(self.run_dir, config, vocab_file)
    json_text.write(layout.data_file(self.run_dir), digests)

  def _check_same_run(
    self, config: config_lib.ExperimentConfig, digests: Mapping[str, str]
  ) -> None:
    """Raises UserError unless the run began with this data and config.

    Fields that say how long and where it trains may change: they are logged.
    """
    if not tf.io.gfile.exists(
      os.path.join(self.run_dir, config_files.CONFIG_FILE)
    ):
      return
    began = json_text.read(layout.data_file(self.run_dir)) or {}
    changed = [
      f'other {name}'
      for name in digests
      if digests[name] != began.get(name, digests[name])
    ]
    old = config_files.read(self.run_dir)
    for change in config_files.differences(old, config):
      if change.partition(' ')[0].rpartition('.')[2] in _MAY_CHANGE:
        logging.warning('The config changed since this run began: %s.', change)
      else:
        changed.append(change)
    if changed:
      raise errors.UserError(
        'A resumed run must have the data and settings that it began with, '
        f'in {self.run_dir}. Found {"; ".join(changed)}. Give the old ones, or '
        'another directory. May change: '
        f'{", ".join(_MAY_CHANGE)}.'
      )

  def create_model(
    self,
    inputs: Inputs,
    parts: Sequence[str],
    data: Mapping[str, Any],
    *,
    keep: tuple[str, ...] = (),
  ) -> realm_model.RealmModel:
    """Calls `begin`, then makes the model with the weights of `init_from`.

    Args:
      data: As in `begin`; the corpus is added.
      keep: Prefixes of weights of `init_from` that the model lacks, and that
        the job publishes unchanged.

    Raises:
      UserError: The directory holds another run, or `init_from` does not fit.
    """
    corpus = inputs.table.manifest['corpus_fingerprint']
    self.begin(inputs.config, inputs.vocab_file, {'corpus': corpus, **data})
    with self.strategy.scope():
      model = realm_model.RealmModel(
        inputs.config.model,
        parts,
        inputs.tokenizer.is_inner,
        inputs.config.finetuning.null_spans,
      )
      left_over = load_params(model, inputs, self.init_from)
    if keep and self.init_from.model_dir and self.is_chief:
      keep_untrained(
        self.run_dir,
        self.init_from.model_dir,
        {name: left_over[name] for name in left_over if name.startswith(keep)},
        model=inputs.config.model,
      )
    return model


def with_reader_of(
  reader_dir: str, model: config_lib.ModelConfig
) -> config_lib.ModelConfig:
  """Returns `model` with the sizes and the head of another model's reader.

  Rates of dropout stay: they belong to a training, not to a model.
  """
  reader = model_files.open_model(reader_dir).config.model
  rates = ('dropout_rate', 'attention_dropout_rate')
  own = {name: getattr(model.reader_bert, name) for name in rates}
  return dataclasses.replace(
    model,
    reader_bert=dataclasses.replace(reader.reader_bert, **own),
    span_head=reader.span_head,
    span_hidden_size=reader.span_hidden_size,
    max_span_width=reader.max_span_width,
  )


def load_params(
  model: realm_model.RealmModel, inputs: Inputs, init_from: InitFrom
) -> dict[str, np.ndarray]:
  """Loads the newest parameters that fit; returns the other weights by name.

  Raises:
    UserError: A directory is no model directory or has another vocabulary, or
      `reader_dir` lacks a complete reader.
  """
  opened = [
    path and model_files.open_model(path, table=inputs.table)
    for path in init_from
  ]
  arrays, reader = (each.read_params() if each else {} for each in opened)
  if init_from.reader_dir:
    if not realm_model.has_reader(reader):
      raise errors.UserError(
        '--reader_init_from must hold a model with a reader. Found none in '
        f'{init_from.reader_dir}. Give an imported BERT, or a --run_dir of '
        'bin.pretrain or bin.finetune.'
      )
    of_reader = realm_model.READER_PREFIXES
    arrays = {
      **{n: arrays[n] for n in arrays if not n.startswith(of_reader)},
      **{n: reader[n] for n in reader if n.startswith(of_reader)},
    }
  if not arrays:
    return {}
  report = model.load(arrays)
  if init_from.reader_dir:
    # Many BERTs come without a pooler, and no reader uses it.
    lacking = [
      name
      for name in report.missing
      if name.startswith('reader_') and '/pooler_transform/' not in name
    ]
    realm_model.require_parts(
      report._replace(missing=lacking, left_over=[]), init_from.reader_dir
    )
  logging.info(
    'From %s: %d variables used; new: %s; left over: %s.',
    ' and '.join(filter(None, init_from)),
    len(report.used),
    report.missing,
    report.left_over,
  )
  start = opened[0]
  if start and realm_model.EMBEDDER in realm_model.parts_of(report.used):
    _warn_of_another_embedder(start, inputs.config)
  return {name: arrays[name] for name in report.left_over}


def _warn_of_another_embedder(
  start: model_files.OpenModel, config: config_lib.ExperimentConfig
) -> None:
  """Warns of a head or towers that start at random."""
  old = start.config
  if not config.model.embedder.shared_towers:  # One tower fills both.
    old = dataclasses.replace(old, model=realm_model.separate_towers(old.model))
  changes = [
    change
    for change in config_files.differences(old, config)
    if change.startswith('model.embedder.') and '_rate ' not in change
  ]
  if changes:
    logging.warning(
      'The embedder is another one than in --init_from (%s): %s. What is new '
      "starts at random. --model_of=DIR takes over DIR's embedder.",
      start.path,
      '; '.join(changes),
    )


def publish(run_dir: str, step: int, model: tf.Module) -> versions.Version:
  """Writes params/<step>/ with `model`'s weights and the untrained ones."""
  arrays = weights.values(model.variables)
  untrained = layout.untrained_file(run_dir)
  if tf.io.gfile.exists(untrained):
    arrays = {**weights.read(untrained), **arrays}
  return model_files.publish(run_dir, step, arrays)


def keep_untrained(
  run_dir: str,
  init_from: str,
  arrays: Mapping[str, np.ndarray],
  *,
  model: config_lib.ModelConfig,
) -> None:
  """Stores weights of `init_from` that the job publishes but does not train.

  ICT, for one, trains only the embedders (Section 3.4). A resumed run publishes
  the reader that untrained.safetensors has from the run's start.

  Args:
    model: Config of the run. A reader with other sizes is not stored.
  """
  theirs = config_files.read(init_from).model
  left_out: tuple[str, ...] = ()
  sizes = operator.attrgetter(*_SIZES)
  if sizes(theirs.reader_bert) != sizes(model.reader_bert):
    left_out = realm_model.READER_PREFIXES
    if any(name.startswith(left_out) for name in arrays):
      logging.warning(
        'The reader of %s is left out: its sizes differ from '
        '`model.reader_bert`.',
        init_from,
      )
  elif theirs.span_hidden_size != model.span_hidden_size:
    left_out = ('span_reader/',)
  kept = {n: arrays[n] for n in arrays if not n.startswith(left_out)}
  outputs.remove([layout.untrained_file(run_dir)])
  if kept:
    weights.write(kept, layout.untrained_file(run_dir))
    logging.info('%d untrained weights are published too.', len(kept))
