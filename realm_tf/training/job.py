"""The common part of all training jobs.

Each kind of job is a function `NAME_run.run(inputs, examples, job, ...)` that
checks its examples, creates its model, and runs a loop on its batches. With
this order a user's mistake in the examples leaves no run directory.
"""

from collections.abc import Sequence
import contextlib
import os
from typing import NamedTuple, Optional

from absl import logging
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.modeling import realm_model
from realm_tf.modeling import strategies
from realm_tf.records import sampling
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.training import initial_params
from realm_tf.training import params_export
from realm_tf.training import runs


class Job(NamedTuple):
  """Run directory, first weights and devices of a job."""

  run_dir: str
  init_from: initial_params.InitFrom = initial_params.NOTHING
  devices: Optional[tf.distribute.Strategy] = None  # None: one device.
  resume: bool = False

  @property
  def strategy(self) -> tf.distribute.Strategy:
    return self.devices or tf.distribute.get_strategy()

  @property
  def is_chief(self) -> bool:
    """Whether this process writes the run directory."""
    return strategies.worker(self.strategy) == 0

  def scope(self) -> contextlib.AbstractContextManager[object]:
    """Returns the scope in which models, optimizers, trainers are created."""
    return self.strategy.scope()

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

  def begin(self, config: config_lib.ExperimentConfig, vocab_file: str) -> None:
    """Makes the run directory, in the chief.

    Raises:
      UserError: The directory holds a run, and the job does not resume.
    """
    if not self.is_chief:
      return
    if not self.resume:
      self._check_new()
      params_export.forget_untrained(self.run_dir)
    elif tf.io.gfile.exists(
      os.path.join(self.run_dir, config_files.CONFIG_FILE)
    ):
      old = config_files.read(self.run_dir)
      for change in config_files.differences(old, config):
        logging.warning('The config changed since this run began: %s.', change)
    if tf.io.gfile.exists(layout.done_file(self.run_dir)):
      tf.io.gfile.remove(layout.done_file(self.run_dir))
    model_directory.create(self.run_dir, config, vocab_file)

  def create_model(
    self,
    inputs: runs.Inputs,
    parts: Sequence[str],
    *,
    keep: tuple[str, ...] = (),
  ) -> realm_model.RealmModel:
    """Calls `begin`, then makes the model with the weights of `init_from`.

    Args:
      keep: Prefixes of weights of `init_from` that the model lacks, and that
        the job publishes unchanged.

    Raises:
      UserError: The directory holds a run and the job does not resume, or
        `init_from` does not fit.
    """
    self.begin(inputs.config, inputs.vocab_file)
    with self.scope():
      model = realm_model.RealmModel(
        inputs.config.model,
        parts,
        inputs.tokenizer.is_inner,
        inputs.config.finetuning.null_spans,
      )
      left_over = initial_params.load(model, inputs, self.init_from)
    if keep and self.init_from.model_dir and self.is_chief:
      params_export.keep_untrained(
        self.run_dir,
        self.init_from.model_dir,
        {name: left_over[name] for name in left_over if name.startswith(keep)},
        model=inputs.config.model,
      )
    return model

  def _check_new(self) -> None:
    roots = (
      layout.params_root(self.run_dir),
      layout.checkpoint_dir(self.run_dir),
    )
    if any(map(tf.io.gfile.exists, roots)):
      raise errors.UserError(
        f'The directory must be new. Found a run in {self.run_dir}. Give '
        'another one, or --resume where the binary has it.'
      )
