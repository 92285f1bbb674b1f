"""Distribution strategy, resume and profiling of a training job."""

import contextlib
from typing import NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.modeling import strategies
from realm_tf.records import sampling


class Setup(NamedTuple):
  """How any job runs.

  Attributes:
    strategy: Devices that share a batch; None for one device.
    resume: Whether to continue from the last checkpoint.
    profile_steps: First and last step to profile; None for no profile.
  """

  strategy: Optional[tf.distribute.Strategy] = None
  resume: bool = False
  profile_steps: Optional[tuple[int, int]] = None

  def scope(self) -> contextlib.AbstractContextManager:
    """Returns the scope to create models, optimizers and trainers in."""
    return self.resolved.scope()

  @property
  def resolved(self) -> tf.distribute.Strategy:
    return self.strategy or tf.distribute.get_strategy()

  @property
  def is_chief(self) -> bool:
    """Whether this process writes the run directory."""
    return strategies.worker(self.resolved) == 0

  def share(self, batch_size: int) -> sampling.Share:
    """Returns this process's share of batches of `batch_size`.

    Raises:
      UserError: The replicas cannot get equal parts.
    """
    strategy = self.resolved
    number = strategy.num_replicas_in_sync
    if batch_size % number:
      raise errors.UserError(
        'A batch must be divided equally. Found a batch of '
        f'{batch_size} and {number} replicas. Set batch_size to a multiple.'
      )
    return sampling.Share(
      strategies.worker(strategy),
      strategies.num_workers(strategy),
      has_fixed_shapes=isinstance(strategy, tf.distribute.TPUStrategy),
    )


ALONE = Setup()
