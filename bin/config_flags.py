"""Defines the flags of every binary's config and seed."""

import dataclasses
import functools

from absl import flags

from realm_tf import config as config_lib
from realm_tf.config import config_files

_CONFIG = flags.DEFINE_string(
  'config',
  None,
  "Launch module: file or importable name; by default the paper's values.",
)
_SET = flags.DEFINE_multi_string(
  'set', [], 'Config field to change, as pretraining.batch_size=8'
)
_MODEL_OF = flags.DEFINE_string(
  'model_of',
  None,
  "Model directory whose model.* replaces the config's, before --set.",
)
_SEED = flags.DEFINE_integer('seed', 0, 'Random seed.')


@functools.cache
def load() -> config_lib.ExperimentConfig:
  """Returns the config of --config, --model_of, --set and, if given, --seed."""
  given = overrides()
  if flags.FLAGS['seed'].present:
    given += [f'seed={_SEED.value}', f'world.seed={_SEED.value}']
  config = config_lib.ExperimentConfig()
  if _CONFIG.value:
    config = config_files.load(_CONFIG.value)
  if _MODEL_OF.value:
    model = config_files.read(_MODEL_OF.value).model
    config = dataclasses.replace(config, model=model)
  return config_files.override(config, given)


def overrides() -> list[str]:
  """Returns --set as given."""
  return list(_SET.value)
