"""Loads launch modules, applies overrides, writes and reads config.json.

A mistake in a file or an override raises `errors.UserError` with the field's
dotted key.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import difflib
import importlib
import json
import os
import re
import reprlib
import sys
import types
from typing import Any, TypeVar

import msgspec

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.config import experiment

CONFIG_FILE = 'config.json'

# Fields of older releases -> their value, which is now a constant; None for
# sections that no job reads.
_CONSTANTS = {
  'max_skipped_steps': 10,
  'over_retrieval': 0,
  'vectors': 'memory',
  'weight_decay_rate': 0.01,
  'world': None,
}
_WRONG_TYPE = re.compile('Expected `(.*)`, got `.*`')
_Section = TypeVar('_Section')

_SWITCHES = {
  **dict.fromkeys(('true', 'yes', '1'), True),
  **dict.fromkeys(('false', 'no', '0'), False),
}


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
    section = tree
    for part in sections:
      section = section.setdefault(part, {})
    section[name] = _parse(key, value)
  return merge(config, tree)


def merge(config: _Section, tree: Any) -> _Section:
  """Returns a section with the values of nested dicts, `tree`.

  Unknown fields and wrong values raise UserError.
  """
  merged = _over(dataclasses.asdict(config), tree, '')  # type: ignore[call-overload]
  try:
    return msgspec.convert(merged, type(config))
  except msgspec.ValidationError as e:
    problem, _, key = str(e).partition(' - at `$.')
    key = key.rstrip('`')
    if found := _WRONG_TYPE.fullmatch(problem):
      value: Any = merged
      for name in key.split('.'):
        value = value[name]
      raise errors.UserError(
        f'`{key}` must be of type {found[1]}. Found {reprlib.repr(value)}.'
      ) from None
    raise errors.UserError(f'In `{key}`: {problem}' if key else problem) from e


def _over(base: dict[str, Any], tree: Any, key: str) -> dict[str, Any]:
  """Returns nested dicts, `base`, with the values of `tree`."""
  if not isinstance(tree, dict):
    raise errors.UserError(
      f'`{key or "the config"}` must be an object. Found {reprlib.repr(tree)}.'
    )
  for name, value in tree.items():
    path = f'{key}.{name}' if key else name
    if name in base:
      is_section = isinstance(base[name], dict)
      base[name] = _over(base[name], value, path) if is_section else value
    elif name not in _CONSTANTS:
      raise _unknown(path)
    elif _CONSTANTS[name] not in (value, None):
      raise errors.UserError(
        f'`{path}` must be {_CONSTANTS[name]!r}: it is no option any more. '
        f'Found {reprlib.repr(value)}. Use the release that wrote it.'
      )
  return base


def from_json(tree: Any) -> experiment.ExperimentConfig:
  """Returns the config from a tree that `dataclasses.asdict` made.

  Missing fields get their defaults. A field of an older release is ignored if
  it has the value that is now a constant. Other unknown fields, and wrong
  values, raise UserError.
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
