"""Loads launch modules, applies overrides, writes and reads config.json.

A mistake in a file or an override raises `errors.UserError` with the field's
dotted key.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import difflib
import importlib
import json
import math
import os
import reprlib
import sys
import types
from typing import Any

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
  """Returns a file's config, with `overrides` applied.

  Args:
    path: A launch module, which defines CONFIG: a file such as
      'launch/quickstart.py' or an importable module such as
      'realm_tf.launch.quickstart'. Or the JSON of a config; missing fields get
      their defaults. Files may be URLs that tf.io.gfile reads.

  Raises:
    UserError: The module fails, lacks `CONFIG`, or an override is wrong.
  """
  if path.endswith('.json'):
    return override(_read(path)[0], overrides)
  try:
    if path.endswith('.py'):
      module = _run(path)
    else:
      module = importlib.import_module(path)
  except errors.UserError:
    raise
  except Exception as e:  # Any error in the module is the user's.
    raise errors.UserError(
      f'--config={path} must be a Python file or an importable module that '
      f'runs. Found {type(e).__name__}: {e}'
    ) from e
  config = getattr(module, 'CONFIG', None)
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

  All values are checked together after the last override, so their order does
  not matter.
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
  return merge(config, tree)


def merge(config: Any, tree: Any, prefix: str = '') -> Any:
  """Returns a section, `config`, with the values of nested dicts, `tree`.

  `prefix` is the section's dotted key with a dot at the end. Unknown fields and
  wrong values raise UserError.
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
      values[name] = merge(old, value, f'{prefix}{name}.')
    else:
      values[name] = _checked(prefix + name, value, type(old))
  try:
    return dataclasses.replace(config, **values)
  except (ValueError, ArithmeticError) as e:
    where = f'In `{prefix[:-1]}`: ' if prefix else ''
    raise errors.UserError(f'{where}{e}') from e


def from_json(tree: Any) -> experiment.ExperimentConfig:
  """Returns the config from a tree that `dataclasses.asdict` made.

  Missing fields get their defaults. Unknown fields and wrong values raise
  UserError.
  """
  return merge(experiment.ExperimentConfig(), tree)


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
  """Returns dotted key -> value of nested dicts."""
  flat: dict[str, Any] = {}
  stack = list(tree.items())[::-1]
  while stack:  # A tree from a stranger may be too deep for recursion.
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
  import tensorflow as tf  # Takes seconds, and reading needs none.

  tf.io.gfile.makedirs(directory)
  with tf.io.gfile.GFile(os.path.join(directory, CONFIG_FILE), 'w') as f:
    f.write(json.dumps(dataclasses.asdict(config), indent=2) + '\n')


def read(directory: str) -> experiment.ExperimentConfig:
  """Returns the config in `directory`/config.json.

  No field of the model may be missing: other defaults make another model.
  """
  path = os.path.join(directory, CONFIG_FILE)
  config, tree = _read(path)
  found = flatten(tree)
  for key in _DEFAULTS:
    if key.startswith('model.') and key not in found:
      raise errors.UserError(
        f'{path} must have `{key}`. Found none: another release wrote it. Make '
        'the directory again.'
      )
  return config


def _read(path: str) -> tuple[experiment.ExperimentConfig, dict[str, Any]]:
  """Returns the config of a JSON file, and the fields that it has."""
  tree = json_text.parse(input_files.read(path), path)
  try:
    return from_json(tree), tree
  except errors.UserError as e:
    raise errors.UserError(f'{path}: {e}') from e


def _run(path: str) -> types.ModuleType:
  """Runs a Python file, which may import others of its folder relatively."""
  folder, name = os.path.split(path)
  package = types.ModuleType(os.path.abspath(folder).replace('.', '_'))
  package.__path__ = [os.path.abspath(folder)]
  module = types.ModuleType(f'{package.__name__}.{name[:-3]}')
  module.__file__ = path
  module.__package__ = package.__name__
  sys.modules[package.__name__] = package
  sys.modules[module.__name__] = module  # Dataclasses look there.
  exec(compile(input_files.read(path), path, 'exec'), vars(module))
  return module


def _parse(key: str, text: str) -> Any:
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


def _checked(key: str, value: Any, expected: Any) -> Any:
  """Returns `value` if it has the expected type; an int may be a float."""
  if expected is float and type(value) is int:  # JSON may write 1.0 as 1.
    value = float(value)
  # isinstance takes a bool for an int.
  if type(value) is not expected:
    raise errors.UserError(
      f'`{key}` must be of type {expected.__name__}. Found '
      f'{reprlib.repr(value)}.'
    )
  if expected is float and not math.isfinite(value):
    raise errors.UserError(f'`{key}` must be a finite float. Found {value!r}.')
  return value


def _unknown(key: str) -> errors.UserError:
  # If the section is missing or wrong, the field's name is usually right.
  name = key.rpartition('.')[2]
  near = [k for k in _DEFAULTS if k.rpartition('.')[2] == name] or _DEFAULTS
  nearest = difflib.get_close_matches(key, near, n=1, cutoff=0.0)[0]
  return errors.UserError(
    f'Unknown config key `{key}`. The nearest is `{nearest}`. A directory of '
    'another release must be made again.'
  )


_DEFAULTS = flatten(dataclasses.asdict(experiment.ExperimentConfig()))
