"""Flags of the config, for all binaries."""

import dataclasses
import functools

from absl import flags

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files

_CONFIG = flags.DEFINE_string(
  'config', None, "Launch module or JSON file; by default the paper's values."
)
_SET = flags.DEFINE_multi_string(
  'set', [], 'Config field to change, as pretraining.batch_size=8'
)
_MODEL_OF = flags.DEFINE_string(
  'model_of', None, "Model directory with the config's model.*, before --set."
)
_SEED = flags.DEFINE_integer('seed', 0, 'Random seed.')


@functools.cache
def config() -> config_lib.ExperimentConfig:
  """Returns the config of --config, --model_of, --set and --seed."""
  given = overrides()
  if flags.FLAGS['seed'].present:
    given.append(f'seed={_SEED.value}')
  result = config_lib.ExperimentConfig()
  if _CONFIG.value:
    result = config_files.load(_CONFIG.value)
  if _MODEL_OF.value:
    model = config_files.read(_MODEL_OF.value).model
    result = dataclasses.replace(result, model=model)
  return config_files.override(result, given)


def overrides() -> list[str]:
  """Returns the values of --set."""
  return list(_SET.value)


def check(reads: tuple[str, ...], sets: tuple[str, ...]) -> None:
  """Raises UserError for a flag of the config that would change nothing."""
  fields = ' or '.join(reads) or 'none'
  reads_model = any(each in ('', 'model.') for each in reads)
  for flag, has_use in ((_CONFIG, bool(reads)), (_MODEL_OF, reads_model)):
    if flag.value and not has_use:
      raise errors.UserError(
        f'--{flag.name} must change something. Found --{flag.name}='
        f'{flag.value}, and a binary that reads {fields} of it. Leave '
        'the flag out.'
      )
  for change in overrides():
    if not change.startswith(reads + sets):
      raise errors.UserError(
        f'--set must change a field that this binary reads, '
        f'{" or ".join(reads + sets) or "none"}; a model has its own config. '
        f'Found --set={change}. Leave it out.'
      )
