"""Flags of devices -> the strategy of tf.distribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from realm_tf import errors
from realm_tf.config import names
from realm_tf.model import strategies

if TYPE_CHECKING:
  import tensorflow as tf  # Takes seconds.

_STRATEGY = flags.DEFINE_enum(
  'distribution_strategy', 'off', names.STRATEGIES, 'Strategy of tf.distribute.'
)
_TPU = flags.DEFINE_string('tpu', '', "TPU address; '' or 'local': this VM's.")
_LOGICAL_CPUS = flags.DEFINE_integer(
  'logical_cpus', 1, 'Virtual CPU devices, to test a strategy.', 1
)
_WORKER_HOSTS = flags.DEFINE_string(
  'worker_hosts', '', 'Workers of multi_worker_mirrored: host:port,host:port'
)
_TASK_INDEX = flags.DEFINE_integer(
  'task_index', 0, 'Index of this process among --worker_hosts.'
)


def create() -> tf.distribute.Strategy:
  """Returns the strategy; must be called before TensorFlow uses a device."""
  if _LOGICAL_CPUS.value > 1:
    strategies.split_cpu(_LOGICAL_CPUS.value)
  if _STRATEGY.value == 'multi_worker_mirrored':
    strategies.join_cluster(_WORKER_HOSTS.value, _TASK_INDEX.value)
  return strategies.create(_STRATEGY.value, _TPU.value)


def create_local() -> tf.distribute.Strategy:
  """Returns `create()`; UserError if it spans several machines."""
  if _STRATEGY.value == 'multi_worker_mirrored':
    raise errors.UserError(
      'Embedding must run on the devices of one machine. Found '
      '--distribution_strategy=multi_worker_mirrored. Start bin.refresh_index '
      'on each machine, with --worker and --num_workers.'
    )
  return create()
