"""How a job runs, whatever it trains: devices, pace, resuming.

flags, config -> [this file] -> scope of variables, share of batches
"""

import contextlib
from typing import NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.modeling import strategies
from realm_tf.records import sampling


class Setup(NamedTuple):
  """How a job runs, whatever it trains.

  Attributes:
    strategy: Which devices share a batch; None for one device.
    resume: Whether to go on from the last checkpoint.
    profile_steps: First and last step that are profiled; None for no profile.
  """

  strategy: Optional[tf.distribute.Strategy] = None
  resume: bool = False
  profile_steps: Optional[tuple[int, int]] = None

  def scope(self) -> contextlib.AbstractContextManager:
    """Returns where models, optimizers and trainers are made."""
    return self.resolved.scope()

  @property
  def resolved(self) -> tf.distribute.Strategy:
    return self.strategy or tf.distribute.get_strategy()

  @property
  def is_chief(self) -> bool:
    """Whether this process writes what there is one of in a run."""
    return strategies.worker(self.resolved) == 0

  def share(self, batch_size: int) -> sampling.Share:
    """Returns this process's share of batches of `batch_size`.

    Raises:
      UserError: They cannot be parted.
    """
    strategy = self.resolved
    number = strategy.num_replicas_in_sync
    if batch_size % number:
      raise errors.UserError(
        'A batch must be parted equally. Found a batch of '
        f'{batch_size} and {number} replicas. Set batch_size to a multiple.'
      )
    return sampling.Share(
      strategies.worker(strategy),
      strategies.num_workers(strategy),
      has_fixed_shapes=isinstance(strategy, tf.distribute.TPUStrategy),
    )


class Pace(NamedTuple):
  """When what happens, in steps; see the config's fields of these names."""

  num_steps: int
  log_every_steps: int
  checkpoint_every_steps: int
  max_skipped_steps: int

  @classmethod
  def of(cls, config, log_every_steps: Optional[int] = None) -> 'Pace':
    """Returns the pace of a job's config, such as a `PretrainingConfig`."""
    return cls(
      config.optimizer.num_steps,
      log_every_steps or config.log_every_steps,
      config.checkpoint_every_steps,
      config.optimizer.max_skipped_steps,
    )


ALONE = Setup()
