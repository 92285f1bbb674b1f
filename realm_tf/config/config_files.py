"""Loads, overrides, writes and reads an `ExperimentConfig`.

  launch/NAME.py + 'a.b=value' overrides -> [this file] -> ExperimentConfig
  ExperimentConfig <-> config.json of a run directory

A mistake in a file or in an override is the user's, so everything here raises
`errors.UserError`, with the field's dotted key.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import difflib
import importlib
import json
import math
import os
import typing
from typing import Any

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors

CONFIG_FILE = 'config.json'
# What models had before their config said so.
_FORMER_LAYER_NORM_EPSILON = 1e-12

_TRUE = frozenset(['true', 'yes', '1'])
_FALSE = frozenset(['false', 'no', '0'])
# Top-level fields that config.json of older runs holds, and nothing reads.
_RETIRED = frozenset(['init_from'])


def load(
  path: str, overrides: Sequence[str] = ()
) -> config_lib.ExperimentConfig:
  """Returns the `CONFIG` of a launch module, with `overrides` applied.

  Args:
    path: 'launch/quickstart.py' (any path tf.io.gfile reads), or
      'launch.quickstart'.
    overrides: 'a.b=value' each, parsed by the type of the field `a.b`. They are
      checked together, after the last: two that are valid only in common are
      fine, in either order.

  Raises:
    errors.UserError: No such file, no `CONFIG` in it, an unknown key, or a
      value that the field does not take.
  """
  config = (_from_file if path.endswith('.py') else _from_module)(path)
  if not isinstance(config, config_lib.ExperimentConfig):
    raise errors.UserError(
      f'{path} must define CONFIG, a realm_tf.config.ExperimentConfig. Got '
      f'{type(config).__name__}. See the modules under launch/.'
    )
  return override(config, overrides)


def override(
  config: config_lib.ExperimentConfig, overrides: Sequence[str]
) -> config_lib.ExperimentConfig:
  """Returns `config` with each 'a.b=value' of `overrides` applied."""
  tree = to_json(config)
  field_types = dict(_leaf_types(config_lib.ExperimentConfig))
  for text in overrides:
    key, equals, value = text.partition('=')
    if not equals:
      raise errors.UserError(
        f"An override must read 'a.b=value'. Got {text!r}."
      )
    key = key.strip()
    if key in _RETIRED:
      raise errors.UserError(
        f'`{key}` is no field of the config. Give the flag --{key}=DIR.'
      )
    if key not in field_types:
      raise errors.UserError(_unknown_key(key, list(field_types)))
    *sections, name = key.split('.')
    section = tree
    for part in sections:
      section = section[part]
    section[name] = _parse(key, value.strip(), field_types[key])
  return from_json(tree)


def to_json(config: config_lib.ExperimentConfig) -> dict[str, Any]:
  """Returns `config` as nested dicts of what JSON can hold."""
  return dataclasses.asdict(config)


def from_json(tree: dict[str, Any]) -> config_lib.ExperimentConfig:
  """Returns the config that `to_json` made `tree` of.

  Fields that `tree` lacks get their defaults.

  Raises:
    errors.UserError: An unknown field, or a value of a wrong type or range.
  """
  return _build(config_lib.ExperimentConfig, tree, prefix='')


def differences(
  old: config_lib.ExperimentConfig, new: config_lib.ExperimentConfig
) -> list[str]:
  """Returns 'a.b is 2, was 1' for each field that differs."""
  return list(_differences(to_json(old), to_json(new), ''))


def write(config: config_lib.ExperimentConfig, directory: str):
  """Writes `directory`/config.json."""
  tf.io.gfile.makedirs(directory)
  with tf.io.gfile.GFile(os.path.join(directory, CONFIG_FILE), 'w') as f:
    f.write(json.dumps(to_json(config), indent=2) + '\n')


def read(directory: str) -> config_lib.ExperimentConfig:
  """Returns the config in `directory`/config.json, also of an older run."""
  path = os.path.join(directory, CONFIG_FILE)
  try:
    return from_json(_as_written(json.loads(_read_text(path))))
  except json.JSONDecodeError as e:
    raise errors.UserError(
      f'{path} must be JSON. Line {e.lineno}: {e.msg}.'
    ) from e
  except errors.UserError as e:
    raise errors.UserError(f'{path}: {e}') from e


def _as_written(tree: Any) -> Any:
  """Drops what nothing reads any more, and adds what missing fields mean."""
  if not isinstance(tree, dict):
    return tree
  tree = {name: tree[name] for name in tree if name not in _RETIRED}
  model = tree.get('model')
  embedder = model.get('embedder') if isinstance(model, dict) else None
  if isinstance(embedder, dict):
    embedder.setdefault('layer_norm_epsilon', _FORMER_LAYER_NORM_EPSILON)
  return tree


def _from_file(path: str) -> Any:
  """Returns `CONFIG` of the Python file `path`, None if it has none."""
  source = _read_text(path)
  namespace = {'__name__': os.path.basename(path)[:-3], '__file__': path}
  try:
    exec(compile(source, path, 'exec'), namespace)  # As an import would.
  except Exception as e:  # The file is the user's; so is whatever it raises.
    raise errors.UserError(f'{path} must run. {type(e).__name__}: {e}') from e
  return namespace.get('CONFIG')


def _from_module(name: str) -> Any:
  """Returns `CONFIG` of the module `name`, None if it has none."""
  try:
    module = importlib.import_module(name)
  except Exception as e:  # As in _from_file.
    raise errors.UserError(
      '--config must be launch/NAME.py or an importable module. Importing '
      f'{name!r}: {type(e).__name__}: {e}'
    ) from e
  return getattr(module, 'CONFIG', None)


def _read_text(path: str) -> str:
  try:
    with tf.io.gfile.GFile(path, 'r') as f:
      return f.read()
  except tf.errors.OpError as e:
    reason = 'no such file' if isinstance(e, tf.errors.NotFoundError) else e
    raise errors.UserError(
      f'{path} must be a readable file. Got: {reason}.'
    ) from e


def _leaf_types(cls: Any, prefix: str = '') -> Iterator[tuple[str, Any]]:
  """Yields (dotted key, type) of every field that is not itself a config."""
  for name, field_type in typing.get_type_hints(cls).items():
    if dataclasses.is_dataclass(field_type):
      yield from _leaf_types(field_type, f'{prefix}{name}.')
    else:
      yield prefix + name, field_type


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
  if isinstance(old, dict) and isinstance(new, dict):
    for name in new:
      yield from _differences(
        old.get(name), new[name], f'{path}.{name}' if path else name
      )
  elif old != new:
    yield f'{path} is {new!r}, was {old!r}'


def _unknown_key(key: str, valid: Sequence[str]) -> str:
  inside = [k for k in valid if k.startswith(f'{key}.')]
  if inside:
    return f'`{key}` is a section. Set one of its fields: {", ".join(inside)}.'
  # Whoever leaves out or mistakes the section usually knows the field's name.
  name = key.rpartition('.')[2]
  near = [k for k in valid if k.rpartition('.')[2] == name] or valid
  nearest = difflib.get_close_matches(key, near, n=1, cutoff=0.0)[0]
  return f'Unknown config key `{key}`. The nearest is `{nearest}`.'


def _parse(key: str, text: str, base: type) -> Any:
  """Returns `text` as a value of `field_type`."""
  if base is bool:
    if text.lower() in _TRUE | _FALSE:
      return text.lower() in _TRUE
    raise errors.UserError(f'`{key}` must be true or false. Got {text!r}.')
  try:
    return base(text)
  except ValueError:
    raise errors.UserError(
      f'`{key}` must be of type {base.__name__}. Got {text!r}.'
    ) from None


def _build(cls: type, tree: Any, prefix: str) -> Any:
  """Returns an instance of the dataclass `cls` made of the dict `tree`."""
  if not isinstance(tree, dict):
    raise errors.UserError(
      f'`{prefix[:-1] or "the config"}` must be an object. Got {tree!r}.'
    )
  hints = typing.get_type_hints(cls)
  values = {}
  for name, value in tree.items():
    key = prefix + name
    if name not in hints:
      raise errors.UserError(
        _unknown_key(
          key, [k for k, _ in _leaf_types(config_lib.ExperimentConfig)]
        )
      )
    if dataclasses.is_dataclass(hints[name]):
      values[name] = _build(hints[name], value, f'{key}.')
    else:
      values[name] = _checked(key, value, hints[name])
  try:
    return cls(**values)
  except (ValueError, ArithmeticError) as e:
    where = f'In `{prefix[:-1]}`: ' if prefix else ''
    raise errors.UserError(f'{where}{e}') from e


def _checked(key: str, value: Any, base: Any) -> Any:
  """Returns `value`, after a check that it is of `field_type` and finite."""
  if base is float and type(value) is int:  # JSON writes 1.0 as it likes.
    value = float(value)
  # By `type`: to isinstance, a bool is an int.
  if type(value) is not base or (base is float and not math.isfinite(value)):
    raise errors.UserError(
      f'`{key}` must be a finite {base.__name__}. Got {value!r}.'
      if base is float
      else f'`{key}` must be of type {base.__name__}. Got {value!r}.'
    )
  return value
