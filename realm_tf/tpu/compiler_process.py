"""Compiles an HLO module for a TPU that is not there, with libtpu.

  python compiler_process.py MODULE TOPOLOGY REPLICAS FOLDER

Runs in an environment of its own (launch/tpu_compiler.sh), without realm_tf:
jax and TensorFlow need different versions of their packages. FOLDER gets
result.json, with the figures of one core or with the compiler's message as
'error', and compiled.txt, the compiled module as text.
"""

import glob
import json
import os
import sys
import time
from typing import Any

import libtpu

# Without these, libtpu looks for a TPU's machine, and for other processes.
os.environ.update(
  JAX_PLATFORMS='cpu',
  TPU_SKIP_MDS_QUERY='1',
  ALLOW_MULTIPLE_LIBTPU_LOAD='1',
  TPU_LIBRARY_PATH=libtpu.get_library_path(),
)

# pylint: disable=wrong-import-position
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib import _jax  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
import numpy as np  # noqa: E402


def _compile(
  module: bytes, topology: str, num_replicas: int, folder: str
) -> Any:
  """Returns the executable for the first cores of `topology`.

  libtpu writes the compiled module to `folder`, as text. jaxlib cannot: it
  reads no asynchronous instructions of v6e.
  """
  portable = _jax.mlir.hlo_to_stablehlo(module)
  with mlir.make_ir_context():
    parsed = ir.Module.parse(portable)
  slice_of = topologies.get_topology_desc(topology, 'tpu')
  devices = tuple(slice_of.devices[:num_replicas])
  options = xla_client.CompileOptions()
  options.num_replicas, options.num_partitions = num_replicas, 1
  debug = options.executable_build_options.debug_options
  debug.xla_dump_to, debug.xla_dump_hlo_as_text = folder, True
  options.device_assignment = xla_client.DeviceAssignment.create(
    np.array([[each.id] for each in devices])
  )
  return devices[0].client.compile(
    parsed, executable_devices=_jax.DeviceList(devices), compile_options=options
  )


def main() -> None:
  """Compiles the module of the command line."""
  module_file, topology, num_replicas, folder = sys.argv[1:]
  with open(module_file, 'rb') as file:
    module = file.read()
  begun = time.process_time()
  try:
    executable = _compile(module, topology, int(num_replicas), folder)
    secs = time.process_time() - begun
    memory = executable.get_compiled_memory_stats()
    # An output with the memory of an argument costs none.
    outputs = memory.output_size_in_bytes - memory.alias_size_in_bytes
    result: dict[str, Any] = {
      'compile_secs': secs,
      'argument_bytes': memory.argument_size_in_bytes,
      'output_bytes': outputs,
      'temporary_bytes': memory.temp_size_in_bytes,
      'code_bytes': memory.generated_code_size_in_bytes,
    }
    (text,) = glob.glob(os.path.join(folder, '*.after_codegen.txt'))
    os.replace(text, os.path.join(folder, 'compiled.txt'))
  except Exception as error:  # pylint: disable=broad-exception-caught
    result = {'error': str(error) or type(error).__name__}
  with open(os.path.join(folder, 'result.json'), 'w', encoding='utf-8') as file:
    json.dump(result, file)


if __name__ == '__main__':
  main()
