"""A strategy that traces one of many cores, with the sums over all of them.

TPUStrategy needs a TPU. Under this strategy a job traces the same step, on any
machine: it cannot run there, only be compiled.
"""

from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.distribute import one_device_strategy

_MERGE_OPS = {tf.distribute.ReduceOp.SUM: 'Add'}


class OneOfMany(tf.distribute.Strategy):
  """Traces one replica of `num_replicas`."""

  def __init__(self, num_replicas: int):
    super().__init__(_Extended(self, num_replicas))


class _Extended(one_device_strategy.OneDeviceExtended):
  """Has the variables of a single device, and the replicas of a slice."""

  def __init__(self, strategy: tf.distribute.Strategy, num_replicas: int):
    super().__init__(strategy, '/cpu:0')
    self._number = num_replicas

  @property
  def _num_replicas_in_sync(self) -> int:
    return self._number

  def _use_merge_call(self) -> bool:
    return False  # Sums go to `_replica_ctx_all_reduce`.

  def _replica_ctx_all_reduce(
    self, reduce_op: Any, value: Any, options: Any = None
  ) -> Any:
    del options
    group = tf.range(self._number)[None]
    return tf.nest.map_structure(
      lambda each: gen_xla_ops.xla_all_reduce(
        each, group, _MERGE_OPS[reduce_op], 'CrossReplica'
      ),
      value,
    )

  def _call_for_each_replica(self, fn: Any, args: Any, kwargs: Any) -> Any:
    number = gen_xla_ops.xla_replica_id()
    with distribute_lib.ReplicaContext(self._container_strategy(), number):
      return fn(*args, **kwargs)
