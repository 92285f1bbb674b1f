"""Creates strategies of tf.distribute; splits batches among replicas."""

from collections.abc import Mapping
import os
from typing import Any

os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')  # official is tf_keras.

# pylint: disable=wrong-import-position
import numpy as np  # noqa: E402
from official.common import distribute_utils  # noqa: E402
import tensorflow as tf  # noqa: E402

from realm_tf import errors  # noqa: E402

# The Model Garden's names.
NAMES = ('off', 'one_device', 'mirrored', 'multi_worker_mirrored', 'tpu')


def create(name: str, tpu: str = '') -> tf.distribute.Strategy:
  """Returns the strategy of a name, over all devices that it can use.

  Args:
    name: One of `NAMES`; 'off' is TensorFlow's own choice of one device.
      Without GPUs, 'mirrored' takes all logical CPU devices.
    tpu: Address of the TPU; '' or 'local' is this machine's.

  Raises:
    UserError: There is no such device.
  """
  num_gpus = len(tf.config.list_physical_devices('GPU'))
  if name == 'mirrored' and not num_gpus:
    return tf.distribute.MirroredStrategy(
      [device.name for device in tf.config.list_logical_devices('CPU')]
    )
  try:
    return distribute_utils.get_distribution_strategy(
      name,
      num_gpus if name == 'mirrored' else min(num_gpus, 1),
      tpu_address=tpu,
    )
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    found = str(error).splitlines()[0].rstrip('.') or type(error).__name__
    raise errors.UserError(
      f'--distribution_strategy={name} must find its devices. Found: {found}. '
      'Give --tpu, or another strategy.'
    ) from error


def join_cluster(worker_hosts: str, task_index: int) -> None:
  """Sets the processes of multi_worker_mirrored, before `create`.

  Args:
    worker_hosts: 'host:port,host:port'; '' leaves TF_CONFIG as it is.
    task_index: Number of this process among them.

  Raises:
    UserError: There is no such process.
  """
  hosts = worker_hosts.split(',') if worker_hosts else []
  if hosts and not 0 <= task_index < len(hosts):
    raise errors.UserError(
      '--task_index must be the number of this process among --worker_hosts. '
      f'Found {task_index} of {len(hosts)}. Count from 0.'
    )
  distribute_utils.configure_cluster(worker_hosts, task_index)


def split_cpu(number: int) -> None:
  """Makes `number` logical devices of the CPU, before TensorFlow uses it."""
  cpu = tf.config.list_physical_devices('CPU')[0]
  tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * number
  )


def num_workers(strategy: tf.distribute.Strategy) -> int:
  """Returns how many processes train together, each with its own batches."""
  resolver = strategy.cluster_resolver
  if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
    return 1  # A TPU's hosts, too, are fed by one process.
  return max(1, len(resolver.cluster_spec().as_dict().get('worker', ())))


def worker(strategy: tf.distribute.Strategy) -> int:
  """Returns this process's number among `num_workers`; 0 is the chief."""
  return strategy.cluster_resolver.task_id if num_workers(strategy) > 1 else 0


def spread(
  strategy: tf.distribute.Strategy, batch: Mapping[str, np.ndarray]
) -> dict[str, Any]:
  """Returns a batch, [b, ...], split among the replicas of this process.

  b must be a multiple of these replicas.
  """
  if strategy.num_replicas_in_sync == 1:
    return {name: tf.constant(value) for name, value in batch.items()}
  number = strategy.num_replicas_in_sync // num_workers(strategy)

  def parts(value):
    size = len(value) // number

    def part(context):
      start = context.replica_id_in_sync_group % number * size
      return tf.constant(value[start : start + size])

    return strategy.experimental_distribute_values_from_function(part)

  return {name: parts(value) for name, value in batch.items()}


def weighted_mean(values: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
  """Returns a replica's part of the mean over the batch, float32 [].

  Args:
    values: Values times their weights, of any shape.
    weights: Weights, of any shape; where all are 0, so is the mean.

  Returns:
    A number whose mean over the replicas is sum(values) / sum(weights).
  """
  total = tf.stop_gradient(tf.reduce_sum(weights))
  replica = tf.distribute.get_replica_context()
  number = replica.num_replicas_in_sync
  if number > 1:
    total = replica.all_reduce(tf.distribute.ReduceOp.SUM, total)
  return number * tf.math.divide_no_nan(tf.reduce_sum(values), total)
