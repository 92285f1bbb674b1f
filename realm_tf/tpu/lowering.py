"""A function of TensorFlow -> the HLO module of one of many cores.

TPUStrategy needs a TPU. Under `OneOfMany` a job traces the same step on any
machine, with the sums over all cores: it cannot run there, only be compiled.
"""

from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.distribute import one_device_strategy

_MERGE_OPS = {tf.distribute.ReduceOp.SUM: 'Add'}


class Program(NamedTuple):
  """A function that a job compiles for its devices.

  Attributes:
    batch: Rows of the batch that a core has: queries, questions or blocks.
    arguments: A `tf.TensorSpec`, or a structure of them, for each argument.
    remedies: Settings that make the program smaller, the best first.
    num_replicas: Cores that run it together, with sums over all of them.
    module: The lowered program, a serialized HLO module, without `function`.
  """

  name: str
  function: Any
  arguments: tuple[Any, ...]
  batch: int
  remedies: tuple[str, ...]
  num_replicas: int = 1
  module: bytes = b''


def lower(program: Program) -> Program:
  """Returns the program with its module, without places in the source.

  The variables of the function become arguments, and share their memory with
  the outputs that update them. Nothing is computed.
  """
  flat = tf.nest.flatten(program.arguments)

  def function(*given: tf.Tensor) -> Any:
    return program.function(*tf.nest.pack_sequence_as(program.arguments, given))

  compiled = tf.function(function, jit_compile=True, autograph=False)
  module = compiled.experimental_get_compiler_ir(*flat)(stage='hlo_serialized')
  return program._replace(function=None, arguments=(), module=_plain(module))


def _plain(serialized: bytes) -> bytes:
  """Removes the places in the source, and copies of whole arrays.

  The places are most of the bytes. TensorFlow copies each output that updates a
  variable: StableHLO has no such op, and XLA inserts the copies that it needs.
  """
  module = hlo_pb2.HloModuleProto.FromString(serialized)
  module.ClearField('stack_frame_index')
  for computation in module.computations:
    copied: dict[int, int] = {}  # A copy's id -> its operand's.
    for each in computation.instructions:
      if each.opcode == 'copy':
        copied[each.id] = copied.get(each.operand_ids[0], each.operand_ids[0])
    kept = [each for each in computation.instructions if each.id not in copied]
    for each in kept:
      each.ClearField('metadata')
      each.operand_ids[:] = [copied.get(one, one) for one in each.operand_ids]
    computation.root_id = copied.get(computation.root_id, computation.root_id)
    rest = hlo_pb2.HloComputationProto(instructions=kept)
    computation.ClearField('instructions')
    computation.MergeFrom(rest)
  return module.SerializeToString(deterministic=True)


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
