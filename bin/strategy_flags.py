"""Defines the flags of devices, and makes the strategy of tf.distribute."""

from absl import flags
import tensorflow as tf

from realm_tf import errors
from realm_tf.modeling import strategies

_STRATEGY = flags.DEFINE_enum(
  'distribution_strategy', 'off', strategies.NAMES, 'Strategy of tf.distribute.'
)
_TPU = flags.DEFINE_string('tpu', '', "Address of the TPU; '' is a local one.")
_LOGICAL_CPUS = flags.DEFINE_integer(
  'logical_cpus', 1, 'Devices to split the CPU into, to try a strategy.', 1
)
_WORKER_HOSTS = flags.DEFINE_string(
  'worker_hosts', '', 'host:port,host:port,... of multi_worker_mirrored.'
)
_TASK_INDEX = flags.DEFINE_integer(
  'task_index', 0, 'Index of this process among --worker_hosts.'
)


def create() -> tf.distribute.Strategy:
  """Returns the strategy to train under; before TensorFlow uses a device.

  Raises:
    UserError: There are no such devices, or this process is not among them.
  """
  if _LOGICAL_CPUS.value > 1:
    strategies.split_cpu(_LOGICAL_CPUS.value)
  if _STRATEGY.value == 'multi_worker_mirrored':
    strategies.join_cluster(_WORKER_HOSTS.value, _TASK_INDEX.value)
  return strategies.create(_STRATEGY.value, _TPU.value)


def create_local() -> tf.distribute.Strategy:
  """Returns the strategy, whose devices are all of this machine.

  Raises:
    UserError: They are not, or there are none.
  """
  if _STRATEGY.value == 'multi_worker_mirrored':
    raise errors.UserError(
      'Machines embed apart, each with its own devices. Found '
      '--distribution_strategy=multi_worker_mirrored. Start bin.refresh_index '
      'on each, with --worker and --num_workers.'
    )
  return create()
