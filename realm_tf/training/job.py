"""The part of a training job that all jobs have in common.

  config, inputs, model directory -> [this file] -> run directory, model, loop

A kind of job is a function `NAME_run.run(inputs, examples, job, ...)`. It
checks its examples, creates the model, starts the loop with its trainer, and
runs the loop on its batches. The order matters: a user's mistake in the
examples leaves no run directory behind.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tf_keras

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.records import sampling
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import params_export
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib


class Job(NamedTuple):
  """Where, from which weights and on which devices a job runs.

  Attributes:
    run_dir: New model directory to write.
    init_from: Model directories to start from.
    setup: Strategy, resume and profile.
  """

  run_dir: str
  init_from: initial_params.InitFrom = initial_params.NOTHING
  setup: setup_lib.Setup = setup_lib.ALONE

  def share(self, config: loop.JobConfig) -> sampling.Share:
    """Returns this process's share of each batch.

    Raises:
      UserError: The replicas cannot get equal parts of a batch.
    """
    return self.setup.share(config.batch_size)

  def create_model(
    self, inputs: runs.Inputs, parts: Sequence[str]
  ) -> tuple[realm_model.RealmModel, dict[str, np.ndarray]]:
    """Makes the run directory and the model.

    Returns:
      The model, and the weights of `init_from` that it has no variables for.

    Raises:
      UserError: The directory holds a run and the job does not resume, or
        `init_from` does not fit.
    """
    runs.start(self.run_dir, inputs, self.setup)
    return initial_params.create_model(
      inputs, parts, self.init_from, setup=self.setup
    )

  def keep_untrained(
    self, left_over: Mapping[str, np.ndarray], config: config_lib.ModelConfig
  ) -> None:
    """Publishes the rest of the first model along with the trained part.

    Args:
      left_over: Its weights, from `create_model`.
      config: Config of the trained model.
    """
    init_from = self.init_from.model_dir
    if init_from and self.setup.is_chief:
      params_export.keep_untrained(
        self.run_dir, init_from, left_over, model=config
      )

  def start(
    self,
    config: loop.JobConfig,
    seed: int,
    make_trainer: Callable[[tf_keras.optimizers.Optimizer], loop.Trainer],
  ) -> loop.Loop[loop.Trainer]:
    """Makes optimizer and trainer under the strategy; returns their loop.

    Args:
      config: The job's section of the config.
      seed: Random seed of dropout.
      make_trainer: Optimizer -> trainer.
    """
    with self.setup.scope():
      trainer = make_trainer(optimizer_lib.create(config.optimizer))
      trainer.seed_dropout(seed)
    return loop.Loop(trainer, self.run_dir, config, setup=self.setup)
