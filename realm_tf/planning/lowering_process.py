"""Lowers programs in a process of their own.

Lowering takes gigabytes, which the compiler needs next, and TensorFlow ends the
process at a program that it cannot lower. A new process also gives a program
the same module each time, so that its compilation is found again.
"""

from concurrent import futures
from concurrent.futures import process
import multiprocessing
from typing import Any

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.modeling import precision
from realm_tf.planning import chips
from realm_tf.planning import lowering
from realm_tf.planning import programs


def lower(
  name: str,
  config: config_lib.ExperimentConfig,
  where: chips.Slice,
  num_blocks: int,
) -> list[lowering.Lowered]:
  """Returns the programs of a name of `programs.NAMES` for a slice.

  Raises:
    UserError: The cores cannot share the batch, or the process ended.
  """
  context = multiprocessing.get_context('spawn')
  with futures.ProcessPoolExecutor(1, context) as pool:
    try:
      of_core = name, config, where.num_cores, num_blocks
      return pool.submit(_lower, where.name, *of_core).result()
    except process.BrokenProcessPool as error:
      raise errors.UserError(
        f'{name} must be lowered by TensorFlow. Found that its process ended, '
        'killed for memory or with the message above. Give more memory, or '
        'other --programs.'
      ) from error


def _lower(kind: str, *of_core: Any) -> list[lowering.Lowered]:
  with precision.planned_for_tpu(kind):
    return [lowering.lower(each) for each in programs.build(*of_core)]
