r"""Compiles a config's programs for TPUs, on a machine without one.

  bash launch/tpu_compiler.sh     # Google's compiler, once: .venv-tpu
  python -m bin.plan_tpu --topology=v5e:8x8,v6e:4x4 \
      --set=model.recompute_activations=true

Prints for each program whether it compiles and fits into a core's memory, its
arithmetic and memory traffic, and the seconds that they take at the chip's
peaks. No weights are read, and nothing is computed.
"""

import itertools
import json
import os
import sys

from . import config_flags
from . import launcher

from absl import flags

from realm_tf import errors
from realm_tf.model import precision
from realm_tf.run import outputs
from realm_tf.tpu import chips
from realm_tf.tpu import plan
from realm_tf.tpu import programs
from realm_tf.tpu import tpu_compiler

_TOPOLOGY = flags.DEFINE_string(
  'topology', 'v5e:8x8', "Slices, as v3:4x8,v5e:8x8; or 'all': 64 of each kind."
)
_PROGRAMS = flags.DEFINE_string(
  'programs', 'all', 'Programs to compile, separated by commas.'
)
_NUM_BLOCKS = flags.DEFINE_integer(
  'num_blocks', 13_353_718, 'Blocks of the corpus, for retrieval.', 1
)
_COMPILER = flags.DEFINE_string(
  'compiler',
  os.environ.get('REALM_TPU_VENV', '.venv-tpu') + '/bin/python',
  "Interpreter of the compiler's environment.",
)
_CACHE_DIR = launcher.new_path(
  'cache_dir',
  'Directory that keeps compilations for the next plan.',
  required=False,
)
_OUTPUT = launcher.new_path(
  'output', 'JSON file to write.', required=False, is_file=True
)


def _rows(name, slices, compiler):
  """Yields the rows of a name's programs; equal ones are lowered once."""
  part = lambda each: (each.num_cores, precision.has_fast_memory(each.name))
  for of_core in dict.fromkeys(map(part, slices)):
    same = [each for each in slices if part(each) == of_core]
    print(f'{name} on {of_core[0]} cores: lowering.', file=sys.stderr)
    try:
      made = programs.lower(
        name, config_flags.config(), same[0], _NUM_BLOCKS.value
      )
    except errors.UserError as error:  # The others may be planned.
      compiled = tpu_compiler.Compiled(error=str(error))
      yield from (
        plan.Row(name, where, 0, compiled, str(error)) for where in same
      )
      continue
    for program, where in itertools.product(made, same):
      print(f'{program.name} for {where.name}: compiling.', file=sys.stderr)
      yield plan.row(program, where, compiler.compile(program, where.name))


def main(_):
  slices = chips.parse(_TOPOLOGY.value)
  names = _PROGRAMS.value.split(',')
  if names == ['all']:
    names = list(programs.NAMES)
  for name in names:
    if name not in programs.NAMES:
      raise errors.UserError(
        f'--programs must name programs. Found {name!r}. Give all, or some of '
        f'{", ".join(programs.NAMES)}.'
      )
  compiler = tpu_compiler.Compiler(_COMPILER.value, _CACHE_DIR.value or '')
  rows = [row for name in names for row in _rows(name, slices, compiler)]
  rows += plan.together(rows)
  print(plan.table(rows))
  if _OUTPUT.value:
    text = json.dumps([row.as_json() for row in rows], indent=2)
    outputs.write_text(_OUTPUT.value, text + '\n')
  problems = [row for row in rows if row.problem]
  if problems:
    raise errors.UserError(
      f'Programs must run on their slices. Found {len(problems)} of '
      f'{len(rows)} that do not. Make the changes named below the table.'
    )


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
