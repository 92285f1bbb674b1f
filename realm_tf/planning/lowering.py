"""A function of TensorFlow -> the HLO module that XLA compiles."""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2


class Program(NamedTuple):
  """A function that a job compiles for its devices.

  Attributes:
    batch: Rows of the batch that a core has: queries, questions or blocks.
    arguments: A `tf.TensorSpec`, or a structure of them, for each argument.
    remedies: Settings that make the program smaller, the best first.
    num_replicas: Cores that run it together, with sums over all of them.
  """

  name: str
  function: Callable[..., Any]
  arguments: tuple[Any, ...]
  batch: int
  remedies: tuple[str, ...]
  num_replicas: int = 1


class Lowered(NamedTuple):
  """A program as a serialized HLO module, with attributes of `Program`."""

  name: str
  module: bytes
  batch: int
  remedies: tuple[str, ...]
  num_replicas: int = 1


def lower(program: Program) -> Lowered:
  """Returns the program's module, without places in the source.

  The variables of the function become arguments, and share their memory with
  the outputs that update them. Nothing is computed.
  """
  flat = tf.nest.flatten(program.arguments)

  def function(*given: tf.Tensor) -> Any:
    arguments = tf.nest.pack_sequence_as(program.arguments, given)
    return program.function(*arguments)

  compiled = tf.function(function, jit_compile=True, autograph=False)
  module = compiled.experimental_get_compiler_ir(*flat)(stage='hlo_serialized')
  return Lowered(
    program.name,
    _plain(module),
    program.batch,
    program.remedies,
    program.num_replicas,
  )


def _plain(serialized: bytes) -> bytes:
  """Removes the places in the source, and copies of whole arrays.

  The places are most of the bytes. TensorFlow copies each output that updates a
  variable: StableHLO has no such op, and XLA inserts the copies that it needs.
  """
  module = hlo_pb2.HloModuleProto.FromString(serialized)
  module.ClearField('stack_frame_index')
  for computation in module.computations:
    copied = {
      each.id: each.operand_ids[0]
      for each in computation.instructions
      if each.opcode == 'copy'
    }
    kept = [each for each in computation.instructions if each.id not in copied]
    for each in kept:
      each.ClearField('metadata')
      each.operand_ids[:] = [_source(one, copied) for one in each.operand_ids]
    computation.root_id = _source(computation.root_id, copied)
    rest = hlo_pb2.HloComputationProto(instructions=kept)
    computation.ClearField('instructions')
    computation.MergeFrom(rest)
  return module.SerializeToString(deterministic=True)


def _source(number: int, copied: dict[int, int]) -> int:
  while number in copied:
    number = copied[number]
  return number
