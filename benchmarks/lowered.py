r"""Lowers a config's programs for another machine's accelerator.

  python -m benchmarks.lowered FOLDER pretraining,block_embedding \
      [pretraining.batch_size=8 ...]      # with TensorFlow, without the chip
  python run_lowered.py FOLDER            # on the other machine, with JAX

FOLDER gets a module of each program, as `bin.plan_tpu` compiles it for one
core. benchmarks/run_lowered.py needs nothing else of this project.
"""

import json
import pathlib

from absl import app
from tensorflow.compiler.xla.service import hlo_pb2

from realm_tf import config as config_lib
from realm_tf.config import config_files
from realm_tf.tpu import chips
from realm_tf.tpu import programs

_NUM_BLOCKS = 13_353_718  # The paper's.


def main(argv: list[str]) -> None:
  if len(argv) < 3:
    raise app.UsageError('FOLDER and programs must be given.')
  _, folder, names, *overrides = argv
  output = pathlib.Path(folder)
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


if __name__ == '__main__':
  app.run(main)
