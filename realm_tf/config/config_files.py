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
  'freeze_block_tower': True,
  'leaves_to_search_fraction': 0.1,
  'max_skipped_steps': 10,
  'num_to_rescore': 200,
  'over_retrieval': 0,
  'patience': 0,
  'refresh_every_steps': 0,  # Of `finetuning`.
  'vectors': 'memory',
  'weight_decay_rate': 0.01,
  'world': None,
}
_WRONG_TYPE = re.compile('Expected `(.*)`, got `.*`')
_Section = TypeVar('_Section')


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
    is_file = path.endswith('.py')
    module = _run(path) if is_file else importlib.import_module(path)
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
  values = {}
  for text in overrides:
    key, equals, value = text.partition('=')
    if not equals:
      raise errors.UserError(
        f"An override must read 'a.b=value'. Found {text!r}."
      )
    values[key.strip()] = value.strip()
  return _changed(config, values, strict=False)


def merge(config: _Section, tree: Any) -> _Section:
  """Returns a section with the values of nested dicts, `tree`.

  A field of an older release is ignored if it has the value that is now a
  constant. Other unknown fields, and wrong values, raise UserError.
  """
  if not isinstance(tree, dict):
    raise errors.UserError(
      f'`the config` must be an object. Found {reprlib.repr(tree)}.'
    )
  return _changed(config, flatten(tree), strict=True)


def _changed(
  config: _Section, values: Mapping[str, Any], *, strict: bool
) -> _Section:
  """Returns a section with dotted key -> value.

  Texts are parsed by the type of their field, unless `strict`.
  """
  flat = flatten(dataclasses.asdict(config))  # type: ignore[call-overload]
  for key, value in values.items():
    gone = next((part for part in key.split('.') if part in _CONSTANTS), None)
    if key in flat:
      flat[key] = value
    elif inside := [known for known in flat if known.startswith(f'{key}.')]:
      raise errors.UserError(
        f'`{key}` is a section. Set one of its fields: {", ".join(inside)}.'
      )
    elif gone is None:
      raise _unknown(key)
    elif _CONSTANTS[gone] not in (value, None):
      raise errors.UserError(
        f'`{key}` must be {_CONSTANTS[gone]!r}: it is no option any more. '
        f'Found {reprlib.repr(value)}. Use the release that wrote it.'
      )
  tree: dict[str, Any] = {}
  for key, value in flat.items():
    *sections, name = key.split('.')
    section = tree
    for part in sections:
      section = section.setdefault(part, {})
    section[name] = value
  try:
    return msgspec.convert(tree, type(config), strict=strict)
  except msgspec.ValidationError as e:
    problem, _, key = str(e).partition(' - at `$.')
    key = key.rstrip('`')
    if found := _WRONG_TYPE.fullmatch(problem):
      problem = (
        f'`{key}` must be of type {found[1]}. Found {reprlib.repr(flat[key])}.'
      )
    elif key:
      problem = f'In `{key}`: {problem}'
    raise errors.UserError(problem) from e


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
  """Returns dotted key -> value of nested dicts."""
  flat: dict[str, Any] = {}
  stack = list(tree.items())[::-1]
  while stack:  # A tree from a stranger may be too deep for recursion.
    key, value = stack.pop()
    if isinstance(value, Mapping) and value:
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
  text = json.dumps(dataclasses.asdict(config), indent=2) + '\n'
  json_text.replace(os.path.join(directory, CONFIG_FILE), text.encode())


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
    return merge(experiment.ExperimentConfig(), tree), tree
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


def _unknown(key: str) -> errors.UserError:
  # If the section is missing or wrong, the field's name is usually right.
  name = key.rpartition('.')[2]
  near = [k for k in _DEFAULTS if k.rpartition('.')[2] == name] or _DEFAULTS
  nearest = difflib.get_close_matches(key, near, n=1, cutoff=0.0)[0]
  return errors.UserError(
    f'Unknown config key `{key:.100}`. The nearest is `{nearest}`. A directory '
    'of another release must be made again.'
  )


_DEFAULTS = flatten(dataclasses.asdict(experiment.ExperimentConfig()))
