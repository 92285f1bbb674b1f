"""Creates strategies of tf.distribute, and splits batches among replicas."""

from collections.abc import Callable, Mapping, Sequence
import itertools
import os
import socket
import time
from typing import Any

from absl import logging
import numpy as np
from official.common import distribute_utils
import tensorflow as tf

from realm_tf import errors

_SECS_TO_MESSAGE = 10


def create(name: str, tpu: str = '') -> tf.distribute.Strategy:
  """Returns one of `names.STRATEGIES`; UserError if it has no devices.

  'off' lets TensorFlow choose one device. Without GPUs, 'mirrored' uses all
  logical CPU devices. The TPU address '' or 'local' is this machine's TPU.
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

  The hosts are 'host:port,host:port'; '' keeps TF_CONFIG.
  """
  hosts = worker_hosts.split(',') if worker_hosts else []
  if hosts and not 0 <= task_index < len(hosts):
    raise errors.UserError(
      '--task_index must be the number of this process among --worker_hosts. '
      f'Found {task_index} of {len(hosts)}. Count from 0.'
    )
  distribute_utils.configure_cluster(worker_hosts, task_index)
  resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
  workers = resolver.cluster_spec().as_dict().get('worker', [])
  if len(workers) > 1:
    await_workers(workers, resolver.task_id)


def await_workers(
  workers: Sequence[str],
  task_index: int,
  pause: Callable[[float], None] = time.sleep,
) -> None:
  """Returns when each of `workers`, 'host:port', listens.

  TensorFlow would wait without a word, and would ignore every signal.
  """
  hosts, ports = zip(*(each.rsplit(':', 1) for each in workers))
  # gRPC would use the proxy of the environment.
  os.environ.setdefault('no_grpc_proxy', ','.join(hosts))
  missing = [*workers[:task_index], *workers[task_index + 1 :]]
  try:
    listener = socket.create_server(('', int(ports[task_index])))
  except OSError as error:
    raise errors.UserError(
      f'The port of {workers[task_index]} must be free. Found: {error}. Give '
      'another in --worker_hosts.'
    ) from error
  with listener:
    for second in itertools.count():
      missing = [each for each in missing if not _listens(each)]
      if not missing:
        return
      if not second % _SECS_TO_MESSAGE:
        logging.info('Waits for the workers %s.', ', '.join(missing))
      pause(1.0)


def _listens(worker: str) -> bool:
  host, port = worker.rsplit(':', 1)
  try:
    socket.create_connection((host.strip('[]'), int(port)), 1.0).close()
    return True
  except OSError:
    return False


def split_cpu(number: int) -> None:
  """Splits the CPU into logical devices, before TensorFlow uses it."""
  cpu = tf.config.list_physical_devices('CPU')[0]
  tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * number
  )


def num_workers(strategy: tf.distribute.Strategy) -> int:
  """Returns the number of training processes, each with its own batches."""
  resolver = strategy.cluster_resolver
  if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
    return 1  # One process feeds all hosts of a TPU.
  return max(1, len(resolver.cluster_spec().as_dict().get('worker', ())))


def worker(strategy: tf.distribute.Strategy) -> int:
  """Returns the number of this process; 0 is the chief."""
  return strategy.cluster_resolver.task_id if num_workers(strategy) > 1 else 0


def spread(
  strategy: tf.distribute.Strategy, batch: Mapping[str, np.ndarray]
) -> dict[str, Any]:
  """Splits a batch, [b, ...], among this process's replicas, which divide b."""
  if strategy.num_replicas_in_sync == 1:
    return {name: tf.constant(value) for name, value in batch.items()}
  number = strategy.num_replicas_in_sync // num_workers(strategy)

  def parts(value):
    # One op: an op for each of 64 replicas takes five times as long.
    with tf.device('CPU'):
      pieces = tf.split(value, number)
    return strategy.experimental_distribute_values_from_function(
      lambda context: pieces[context.replica_id_in_sync_group % number]
    )

  return {name: parts(value) for name, value in batch.items()}


def weighted_mean(values: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
  """Returns a replica's part of the mean over the batch, float32 [].

  The mean of all parts is sum(values) / sum(weights), or 0 for zero weights.
  """
  total = tf.stop_gradient(tf.reduce_sum(weights))
  replica = tf.distribute.get_replica_context()
  number = replica.num_replicas_in_sync
  if number > 1:
    total = replica.all_reduce(tf.distribute.ReduceOp.SUM, total)
  return number * tf.math.divide_no_nan(tf.reduce_sum(values), total)
