"""Loads, overrides, writes and reads an `ExperimentConfig`.

  launch/NAME.py + 'a.b=value' overrides -> [this file] -> ExperimentConfig
  ExperimentConfig <-> config.json of a run directory

A mistake in a file or in an override is the user's, so everything here raises
`errors.UserError`, with the field's dotted key.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import difflib
import importlib
import json
import math
import os
from typing import Any

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.config import experiment

CONFIG_FILE = 'config.json'
# Values that saved models mean by a missing field.
_FORMER_DEFAULTS = {'model.embedder.layer_norm_epsilon': 1e-12}

_SWITCHES = {'true': True, 'yes': True, '1': True}
_SWITCHES |= {'false': False, 'no': False, '0': False}


def load(
  path: str, overrides: Sequence[str] = ()
) -> experiment.ExperimentConfig:
  """Returns the `CONFIG` of a launch module, with `overrides` applied.

  Args:
    path: A file, as 'launch/quickstart.py' (any path tf.io.gfile reads), or an
      importable module, as 'realm_tf.launch.quickstart'.
    overrides: See `override`.

  Raises:
    errors.UserError: No such file, no `CONFIG` in it, an unknown key, or a
      value that the field does not take.
  """
  try:
    if path.endswith('.py'):
      source = input_files.read(path)
      module = {'__name__': os.path.basename(path)[:-3], '__file__': path}
      exec(compile(source, path, 'exec'), module)  # As an import would.
    else:
      module = vars(importlib.import_module(path))
  except errors.UserError:
    raise
  except Exception as e:  # The module is the user's; so is all it raises.
    raise errors.UserError(
      f'--config={path} must be a Python file or an importable module that '
      f'runs. {type(e).__name__}: {e}'
    ) from e
  config = module.get('CONFIG')
  if not isinstance(config, experiment.ExperimentConfig):
    raise errors.UserError(
      f'{path} must define CONFIG, a realm_tf.config.ExperimentConfig. Got '
      f'{type(config).__name__}. See the modules under launch/.'
    )
  return override(config, overrides)


def override(
  config: experiment.ExperimentConfig, overrides: Sequence[str]
) -> experiment.ExperimentConfig:
  """Returns `config` with each 'a.b=value' of `overrides` applied.

  Values are parsed by the type of their field. They are checked together, after
  the last: two that are valid only in common are fine, in either order.
  """
  values = flatten(to_json(config))
  for text in overrides:
    key, equals, value = (part.strip() for part in text.partition('='))
    if not equals:
      raise errors.UserError(
        f"An override must read 'a.b=value'. Got {text!r}."
      )
    if key == 'init_from':
      raise errors.UserError(
        '`init_from` is no field of the config. Give the flag --init_from=DIR.'
      )
    if inside := [known for known in values if known.startswith(f'{key}.')]:
      raise errors.UserError(
        f'`{key}` is a section. Set one of its fields: {", ".join(inside)}.'
      )
    values[key] = _parse(key, value)
  return _build(values)


def to_json(config: experiment.ExperimentConfig) -> dict[str, Any]:
  """Returns `config` as nested dicts of what JSON can hold."""
  return dataclasses.asdict(config)


def from_json(tree: dict[str, Any]) -> experiment.ExperimentConfig:
  """Returns the config that `to_json` made `tree` of, also in an older run.

  Fields that `tree` lacks get their defaults.

  Raises:
    errors.UserError: An unknown field, or a value of a wrong type or range.
  """
  if not isinstance(tree, dict):
    raise errors.UserError(f'`the config` must be an object. Got {tree!r}.')
  values = flatten(tree)
  if 'model.embedder.head' in values:
    values = {**_FORMER_DEFAULTS, **values}
  return _build(values)


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
  """Returns dotted key -> value of nested dicts."""
  flat: dict[str, Any] = {}
  stack = list(tree.items())[::-1]
  while stack:  # Not by recursion: a stranger's tree may be deep.
    key, value = stack.pop()
    if isinstance(value, Mapping):
      stack += [(f'{key}.{name}', v) for name, v in value.items()][::-1]
    else:
      flat[key] = value
  return flat


def differences(
  old: experiment.ExperimentConfig, new: experiment.ExperimentConfig
) -> list[str]:
  """Returns 'a.b is 2, was 1' for each field that differs."""
  before = flatten(to_json(old))
  return [
    f'{key} is {value!r}, was {before[key]!r}'
    for key, value in flatten(to_json(new)).items()
    if value != before[key]
  ]


def write(config: experiment.ExperimentConfig, directory: str):
  """Writes `directory`/config.json."""
  tf.io.gfile.makedirs(directory)
  with tf.io.gfile.GFile(os.path.join(directory, CONFIG_FILE), 'w') as f:
    f.write(json.dumps(to_json(config), indent=2) + '\n')


def read(directory: str) -> experiment.ExperimentConfig:
  """Returns the config in `directory`/config.json."""
  path = os.path.join(directory, CONFIG_FILE)
  tree = json_text.parse(input_files.read(path), path)
  try:
    return from_json(tree)
  except errors.UserError as e:
    raise errors.UserError(f'{path}: {e}') from e


def _type(key: str) -> Any:
  """Returns the type of the field `key`, which is that of its default."""
  if key in _DEFAULTS:
    return type(_DEFAULTS[key])
  # The field's name is usually right where the section is missing or wrong.
  name = key.rpartition('.')[2]
  near = [k for k in _DEFAULTS if k.rpartition('.')[2] == name] or _DEFAULTS
  nearest = difflib.get_close_matches(key, near, n=1, cutoff=0.0)[0]
  raise errors.UserError(
    f'Unknown config key `{key}`. The nearest is `{nearest}`. Remove it from a '
    'file of an older release.'
  )


def _parse(key: str, text: str) -> Any:
  """Returns `text` as a value of the field `key`."""
  if _type(key) is bool:
    if text.lower() in _SWITCHES:
      return _SWITCHES[text.lower()]
    raise errors.UserError(f'`{key}` must be true or false. Got {text!r}.')
  try:
    return _type(key)(text)
  except ValueError:
    raise errors.UserError(
      f'`{key}` must be of type {_type(key).__name__}. Got {text!r}.'
    ) from None


def _build(values: dict[str, Any]) -> experiment.ExperimentConfig:
  """Returns the config with `values`, by dotted key; others are defaults."""
  checked = {key: _checked(key, value) for key, value in values.items()}
  return _section(experiment.ExperimentConfig, {**_DEFAULTS, **checked}, '')


def _checked(key: str, value: Any) -> Any:
  """Returns `value`, after a check that the field `key` takes its type."""
  if any(known.startswith(f'{key}.') for known in _DEFAULTS):
    raise errors.UserError(f'`{key}` must be an object. Got {value!r}.')
  expected = _type(key)
  if expected is float and type(value) is int:  # JSON writes 1.0 as it likes.
    value = float(value)
  # By `type`: to isinstance, a bool is an int.
  if type(value) is not expected:
    raise errors.UserError(
      f'`{key}` must be of type {expected.__name__}. Got {value!r}.'
    )
  if expected is float and not math.isfinite(value):
    raise errors.UserError(f'`{key}` must be a finite float. Got {value!r}.')
  return value


def _section(cls: Any, values: dict[str, Any], prefix: str) -> Any:
  """Returns the config `cls`; its fields are under `prefix` in `values`."""
  fields = {}
  for field in dataclasses.fields(cls):
    key = prefix + field.name
    if dataclasses.is_dataclass(field.type):
      fields[field.name] = _section(field.type, values, f'{key}.')
    else:
      fields[field.name] = values[key]
  try:
    return cls(**fields)
  except (ValueError, ArithmeticError) as e:
    where = f'In `{prefix[:-1]}`: ' if prefix else ''
    raise errors.UserError(f'{where}{e}') from e


_DEFAULTS = flatten(to_json(experiment.ExperimentConfig()))
