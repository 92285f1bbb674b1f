"""Compiles HLO modules for TPUs, in a process and an environment of its own."""

from collections.abc import Mapping
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
from typing import NamedTuple

from realm_tf import errors
from realm_tf import json_text
from realm_tf.tpu import compiled_module
from realm_tf.tpu import lowering

_SCRIPT = pathlib.Path(__file__).with_name('compiler_process.py')
_VERSIONS = 'import jax, libtpu; print(jax.__version__, libtpu.__version__)'
REMEDY = 'Make it: bash launch/tpu_compiler.sh'


class Compiled(NamedTuple):
  """A program as compiled for one core, or the compiler's refusal.

  Attributes:
    compile_secs: Processor seconds of the compilation.
    argument_bytes: Variables and the batch.
    output_bytes: Outputs that share no memory with an argument.
    temporary_bytes: Values in between, at their most.
    flops: Floating-point operations of a call's products.
    reduced_bytes: Bytes of the arrays that are summed over cores.
    error: The compiler's message, or ''.
    traffic: Bytes of a call between core and memory, of each kind of
      instruction (`compiled_module`).
  """

  compile_secs: float = 0
  argument_bytes: float = 0
  output_bytes: float = 0
  temporary_bytes: float = 0
  code_bytes: float = 0
  flops: float = 0
  reduced_bytes: float = 0
  error: str = ''
  traffic: Mapping[str, float] = {}

  @property
  def traffic_bytes(self) -> float:
    return sum(self.traffic.values())

  @property
  def all_bytes(self) -> float:
    sizes = self.argument_bytes, self.output_bytes, self.temporary_bytes
    return sum(sizes) + self.code_bytes


class Compiler:
  """Google's compiler.

  Args:
    python: Interpreter of the compiler's environment.
    cache_dir: Local directory that keeps the figures of compiled modules, or
      '': a stopped plan continues after the last one.

  Raises:
    UserError: `python` is no interpreter with jax and libtpu.
  """

  def __init__(self, python: str, cache_dir: str = ''):
    self._python = python
    self._cache_dir = cache_dir
    if not os.access(python, os.X_OK):
      raise errors.UserError(
        "Google's TPU compiler must be installed, in an environment of its "
        f'own. Found no {python}. {REMEDY}'
      )
    found = subprocess.run([python, '-c', _VERSIONS], capture_output=True)
    if found.returncode:
      said = found.stderr.decode(errors='replace').strip().splitlines()
      raise errors.UserError(
        f'--compiler must have jax and libtpu. Found {python}: {said[-1]}. '
        f'{REMEDY}'
      )
    counting = pathlib.Path(compiled_module.__file__).read_bytes()
    self._key = found.stdout + _SCRIPT.read_bytes() + counting

  def compile(self, program: lowering.Program, topology: str) -> Compiled:
    """Returns the figures of the program on a core of `topology`: 'v5e:8x8'."""
    key = f'{topology} {program.num_replicas} '.encode() + self._key
    name = hashlib.sha256(key + program.module).hexdigest()[:32] + '.json'
    kept = os.path.join(self._cache_dir, name) if self._cache_dir else ''
    if kept and (found := json_text.read(kept)):
      return Compiled(**found)
    with tempfile.TemporaryDirectory() as name:
      folder = pathlib.Path(name)
      (folder / 'module.hlo').write_bytes(program.module)
      ended = subprocess.run(
        [
          *(self._python, '-I', str(_SCRIPT), str(folder / 'module.hlo')),
          *(topology, str(program.num_replicas), str(folder)),
        ],
        capture_output=True,
        text=True,
        errors='replace',
      )
      if not (folder / 'result.json').exists():
        # libtpu ends the process at some mistakes, such as an unknown topology.
        lines = ended.stderr.strip().splitlines()
        said = lines[-1] if lines else f'exit code {ended.returncode}'
        return Compiled(error=f'The compiler ended: {said}')
      compiled = Compiled(**json.loads((folder / 'result.json').read_text()))
      if not compiled.error:
        counts = compiled_module.counts((folder / 'compiled.txt').read_text())
        traffic = {k: counts[k] for k in compiled_module.TRAFFIC if k in counts}
        compiled = compiled._replace(
          flops=counts[compiled_module.FLOPS],
          reduced_bytes=counts[compiled_module.SUMS],
          traffic=traffic,
        )
    if kept:
      os.makedirs(self._cache_dir, exist_ok=True)
      json_text.write(kept, compiled._asdict())
    return compiled
