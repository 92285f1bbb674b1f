"""Loads, overrides, writes and reads an `ExperimentConfig`.

  launch/NAME.py + 'a.b=value' overrides -> [this file] -> ExperimentConfig
  ExperimentConfig <-> config.json of a run directory

Files and overrides are the user's: a mistake raises `errors.UserError` with the
field's dotted key.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import difflib
import importlib
import json
import math
import os
import reprlib
from typing import Any

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.config import experiment

CONFIG_FILE = 'config.json'

_SWITCHES = {'true': True, 'yes': True, '1': True}
_SWITCHES |= {'false': False, 'no': False, '0': False}


def load(
  path: str, overrides: Sequence[str] = ()
) -> experiment.ExperimentConfig:
  """Returns the `CONFIG` of a launch module, with `overrides` applied.

  Args:
    path: A file, as 'launch/quickstart.py' (any path tf.io.gfile reads), or an
      importable module, as 'realm_tf.launch.quickstart'.

  Raises:
    UserError: No such file, no `CONFIG` in it, an unknown key, or a value that
      the field does not take.
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
      f'{path} must define CONFIG, a realm_tf.config.ExperimentConfig. Found '
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
  tree: dict[str, Any] = {}
  for text in overrides:
    key, equals, value = (part.strip() for part in text.partition('='))
    if not equals:
      raise errors.UserError(
        f"An override must read 'a.b=value'. Found {text!r}."
      )
    *sections, name = key.split('.')
    parsed = _parse(key, value)
    section = tree
    for part in sections:
      section = section.setdefault(part, {})
    section[name] = parsed
  return _merge(config, tree, '')


def from_json(tree: Any) -> experiment.ExperimentConfig:
  """Returns the config that `dataclasses.asdict` made `tree` of.

  Fields that `tree` lacks get their defaults.

  Raises:
    UserError: An unknown field, or a value of a wrong type or range.
  """
  return _merge(experiment.ExperimentConfig(), tree, '')


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
  before = flatten(dataclasses.asdict(old))
  return [
    f'{key} is {value!r}, was {before[key]!r}'
    for key, value in flatten(dataclasses.asdict(new)).items()
    if value != before[key]
  ]


def write(config: experiment.ExperimentConfig, directory: str) -> None:
  """Writes `directory`/config.json."""
  tf.io.gfile.makedirs(directory)
  with tf.io.gfile.GFile(os.path.join(directory, CONFIG_FILE), 'w') as f:
    f.write(json.dumps(dataclasses.asdict(config), indent=2) + '\n')


def read(directory: str) -> experiment.ExperimentConfig:
  """Returns the config in `directory`/config.json.

  Fields of the model must be there: other defaults would be another model.
  """
  path = os.path.join(directory, CONFIG_FILE)
  tree = json_text.parse(input_files.read(path), path)
  try:
    config = from_json(tree)
  except errors.UserError as e:
    raise errors.UserError(f'{path}: {e}') from e
  found = flatten(tree)
  for key in _DEFAULTS:
    if key.startswith('model.') and key not in found:
      raise errors.UserError(
        f'{path} must have `{key}`. Found none: another release wrote it. Make '
        'the directory again.'
      )
  return config


def _parse(key: str, text: str) -> Any:
  """Returns `text` as a value of the field `key`."""
  if inside := [known for known in _DEFAULTS if known.startswith(f'{key}.')]:
    raise errors.UserError(
      f'`{key}` is a section. Set one of its fields: {", ".join(inside)}.'
    )
  if key not in _DEFAULTS:
    raise _unknown(key)
  kind = type(_DEFAULTS[key])
  if kind is bool:
    if text.lower() in _SWITCHES:
      return _SWITCHES[text.lower()]
    raise errors.UserError(f'`{key}` must be true or false. Found {text!r}.')
  try:
    return kind(text)
  except ValueError:
    raise errors.UserError(
      f'`{key}` must be of type {kind.__name__}. Found {text!r}.'
    ) from None


def _merge(config: Any, tree: Any, prefix: str) -> Any:
  """Returns `config`, or a section of it, with the values of `tree`.

  Args:
    prefix: Dotted key of the section, with a dot at its end.
  """
  if not isinstance(tree, dict):
    raise errors.UserError(
      f'`{prefix[:-1] or "the config"}` must be an object. Found '
      f'{reprlib.repr(tree)}.'
    )
  values = {}
  for name, value in tree.items():
    if name not in vars(config):
      raise _unknown(prefix + name)
    old = getattr(config, name)
    if dataclasses.is_dataclass(old):
      values[name] = _merge(old, value, f'{prefix}{name}.')
    else:
      values[name] = _checked(prefix + name, value, type(old))
  try:
    return dataclasses.replace(config, **values)
  except (ValueError, ArithmeticError) as e:
    where = f'In `{prefix[:-1]}`: ' if prefix else ''
    raise errors.UserError(f'{where}{e}') from e


def _checked(key: str, value: Any, expected: Any) -> Any:
  """Returns `value`, after a check that the field `key` takes its type."""
  if expected is float and type(value) is int:  # JSON may write 1.0 as 1.
    value = float(value)
  # By `type`: to isinstance, a bool is an int.
  if type(value) is not expected:
    raise errors.UserError(
      f'`{key}` must be of type {expected.__name__}. Found '
      f'{reprlib.repr(value)}.'
    )
  if expected is float and not math.isfinite(value):
    raise errors.UserError(f'`{key}` must be a finite float. Found {value!r}.')
  return value


def _unknown(key: str) -> errors.UserError:
  # The field's name is usually right where the section is missing or wrong.
  name = key.rpartition('.')[2]
  near = [k for k in _DEFAULTS if k.rpartition('.')[2] == name] or _DEFAULTS
  nearest = difflib.get_close_matches(key, near, n=1, cutoff=0.0)[0]
  return errors.UserError(
    f'Unknown config key `{key}`. The nearest is `{nearest}`. A directory of '
    'another release must be made again.'
  )


_DEFAULTS = flatten(dataclasses.asdict(experiment.ExperimentConfig()))
