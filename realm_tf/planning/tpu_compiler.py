"""Compiles HLO modules for TPUs, in a process and an environment of its own."""

from collections.abc import Mapping
import json
import os
import pathlib
import subprocess
import tempfile
import types
from typing import NamedTuple

from realm_tf import errors
from realm_tf.planning import hbm_traffic

_SCRIPT = pathlib.Path(__file__).with_name('compiler_process.py')
REMEDY = 'Make it: bash launch/tpu_compiler.sh'


class Compiled(NamedTuple):
  """A program as compiled for one core, or the compiler's refusal.

  Attributes:
    compile_secs: Processor seconds of the compilation.
    argument_bytes: Variables and the batch.
    output_bytes: Outputs that share no memory with an argument.
    temporary_bytes: Values in between, at their most.
    flops: Floating-point operations of a call; the compiler counts a loop once.
    reduced_bytes: Bytes of the arrays that are summed over cores.
    accessed_bytes: Bytes that instructions read and write in a call, also in
      the core's fast memory.
    traffic: Bytes of a call between core and memory, of each kind of
      instruction (`hbm_traffic`).
    error: The compiler's message, or ''.
  """

  compile_secs: float = 0
  argument_bytes: float = 0
  output_bytes: float = 0
  temporary_bytes: float = 0
  code_bytes: float = 0
  flops: float = 0
  accessed_bytes: float = 0
  reduced_bytes: float = 0
  error: str = ''
  traffic: Mapping[str, float] = types.MappingProxyType({})

  @property
  def traffic_bytes(self) -> float:
    return sum(self.traffic.values())

  @property
  def all_bytes(self) -> float:
    return (
      self.argument_bytes
      + self.output_bytes
      + self.temporary_bytes
      + self.code_bytes
    )


def check(python: str) -> None:
  """Raises UserError unless `python` is the compiler's interpreter."""
  if not os.access(python, os.X_OK):
    raise errors.UserError(
      "Google's TPU compiler must be installed, in an environment of its own. "
      f'Found no {python}. {REMEDY}'
    )
  found = subprocess.run(
    [python, '-c', 'import jax, libtpu'], capture_output=True, text=True
  )
  if found.returncode:
    raise errors.UserError(
      f'--compiler must have jax and libtpu. Found {python}: '
      f'{found.stderr.strip().splitlines()[-1]}. {REMEDY}'
    )


def compile_for(
  topology: str, module: bytes, python: str, num_replicas: int = 1
) -> Compiled:
  """Returns the figures of `module` on a core of `topology`.

  Args:
    topology: As 'v5e:8x8'.
    module: From `lowering.to_hlo`.
    python: Interpreter of the compiler's environment.
    num_replicas: Cores that run the module together.
  """
  with tempfile.TemporaryDirectory() as folder:
    module_file, result_file, text_file = (
      os.path.join(folder, name)
      for name in ('module.hlo', 'result.json', 'compiled.txt')
    )
    with open(module_file, 'wb') as file:
      file.write(module)
    ended = subprocess.run(
      [python, '-I', str(_SCRIPT), module_file, topology, str(num_replicas)]
      + [folder],
      capture_output=True,
      text=True,
      errors='replace',
    )
    if os.path.exists(result_file):
      result = Compiled(**json.loads(_read(result_file)))
      if result.error:
        return result
      traffic = hbm_traffic.count(_read(text_file))
      reduced = traffic.pop(hbm_traffic.SUMS, 0)
      return result._replace(traffic=traffic, reduced_bytes=reduced)
  # libtpu ends the process at some mistakes, such as an unknown topology.
  said = ended.stderr.strip().splitlines() or [f'exit code {ended.returncode}']
  return Compiled(error=f'The compiler ended: {said[-1]}')


def _read(path: str) -> str:
  with open(path, encoding='utf-8') as file:
    return file.read()
