r"""A config's programs on another machine's accelerator, and their seconds.

  python -m benchmarks.lowered FOLDER pretraining,block_embedding \
      [pretraining.batch_size=8 ...]      # with TensorFlow, without the chip
  python lowered.py FOLDER                # on the other machine, with JAX

FOLDER gets a module of each program, as `bin.plan_tpu` compiles it for one
core. The other machine needs this file, JAX (measured with 0.11.2, of CUDA 13)
and nothing else of this project. Arguments are random numbers. For each program
it prints the seconds to compile, the bytes that it needs, and the seconds of a
run when runs follow each other.
"""

import json
import pathlib
import sys
import time
from typing import Any

import numpy as np

_NUM_BLOCKS = 13_353_718  # The paper's.
_RUNS = 20
# Of XLA's element types.
_BOOL, _INT32, _INT64, _FLOAT32 = 1, 4, 5, 11
_LARGEST_ID = 1000  # Of wordpieces.


def _lower(output: pathlib.Path, names: str, overrides: list[str]) -> None:
  from tensorflow.compiler.xla.service import hlo_pb2

  from realm_tf import config as config_lib
  from realm_tf.config import config_files
  from realm_tf.tpu import chips
  from realm_tf.tpu import programs

  output.mkdir()
  config = config_files.override(config_lib.ExperimentConfig(), overrides)
  (core,) = chips.parse('v5e:1x1')
  for name in names.split(','):
    for each in programs.lower(name, config, core, _NUM_BLOCKS):
      module = hlo_pb2.HloModuleProto.FromString(each.module)
      module.ClearField('input_output_alias')  # Arguments serve each run.
      shapes = [
        (one.element_type, list(one.dimensions))
        for one in module.host_program_shape.parameters
      ]
      path = output / f'{each.name}.hlo'
      path.write_bytes(module.SerializeToString())
      path.with_suffix('.json').write_text(json.dumps(shapes))
      print(f'{path}: a batch of {each.batch}')


def _compile(path: pathlib.Path) -> Any:
  import jax
  from jax._src import xla_bridge
  from jax._src.interpreters import mlir
  from jax._src.lib import _jax
  from jax._src.lib import xla_client
  from jaxlib.mlir import ir

  device = jax.devices()[0]
  portable = _jax.mlir.hlo_to_stablehlo(path.read_bytes())
  options = xla_client.CompileOptions()
  options.num_replicas = options.num_partitions = 1
  options.device_assignment = xla_client.DeviceAssignment.create(
    np.array([[device.id]])
  )
  with mlir.make_ir_context():
    return xla_bridge.get_backend().compile_and_load(
      ir.Module.parse(portable),
      executable_devices=_jax.DeviceList((device,)),
      compile_options=options,
    )


def _argument(number: int, kind: int, shape: list[int]) -> Any:
  import jax

  key = jax.random.key(number)
  if kind == _FLOAT32:
    return jax.random.normal(key, shape, np.float32)
  if kind == _BOOL:
    return jax.numpy.ones(shape, bool)
  if kind == _INT32 and shape:
    most = min(_LARGEST_ID, *shape[1:])  # Some are positions.
    return jax.random.randint(key, shape, 0, most, np.int32)
  dtype = {_INT32: np.int32, _INT64: np.int64}[kind]
  return jax.numpy.asarray(_LARGEST_ID, dtype)


def _measure(path: pathlib.Path) -> None:
  import jax

  begun = time.monotonic()
  program = _compile(path)
  compile_secs = time.monotonic() - begun
  shapes = json.loads(path.with_suffix('.json').read_text())
  arguments = [_argument(i, *each) for i, each in enumerate(shapes)]

  def run(times: int) -> float:
    begun = time.monotonic()
    for _ in range(times):
      results = program.execute_sharded(arguments)
    jax.block_until_ready(results.disassemble_into_single_device_arrays())
    return (time.monotonic() - begun) / times

  run(2)
  seconds = run(_RUNS)
  memory = program.get_compiled_memory_stats()
  print(
    f'{path.stem}: compiled in {compile_secs:.0f} s; '
    f'{memory.argument_size_in_bytes / 1e9:.2f} GB of arguments, '
    f'{memory.temp_size_in_bytes / 1e9:.2f} of temporaries; '
    f'{seconds:.4f} s a run',
    flush=True,
  )


def main(folder: str, names: str = '', *overrides: str) -> None:
  """Lowers the programs `names`, or measures the programs in the folder."""
  if names:
    _lower(pathlib.Path(folder), names, list(overrides))
    return
  import jax

  jax.config.update('jax_enable_x64', True)
  print(jax.devices()[0].device_kind, jax.__version__)
  for path in sorted(pathlib.Path(folder).glob('*.hlo')):
    _measure(path)


if __name__ == '__main__':
  main(*sys.argv[1:])
