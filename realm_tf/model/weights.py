"""Writes and reads weights as safetensors, and assigns them by name.

This is the only import of safetensors; such files can only hold numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
import hashlib
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
import safetensors.numpy
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files


class LoadReport(NamedTuple):
  """Result of `assign`; each field is a sorted list of names."""

  used: list[str]  # Assigned variables.
  missing: list[str]  # Variables without a new value.
  left_over: list[str]  # Values without a variable.


def by_name(variables: Iterable[tf.Variable]) -> dict[str, tf.Variable]:
  """Returns variables by name without ':0'; ValueError if two share a name."""
  named = {}
  for variable in variables:
    name = variable.name.split(':')[0]
    if named.setdefault(name, variable) is not variable:
      raise ValueError(f'Two variables are named {name}.')
  return named


def by_local_name(layer: tf.Module) -> dict[str, tf.Variable]:
  """Returns a layer's variables by name, without the layer's name."""
  prefix = f'{layer.name}/'
  return {
    name.removeprefix(prefix): variable
    for name, variable in by_name(layer.variables).items()
  }


def values(variables: Iterable[tf.Variable]) -> dict[str, np.ndarray]:
  """Returns the values of variables by name, sorted."""
  return {
    name: np.asarray(variable.numpy(), order='C')
    for name, variable in sorted(by_name(variables).items())
  }


def write(
  arrays: Mapping[str, np.ndarray],
  path: str,
  metadata: Mapping[str, str] | None = None,
) -> None:
  """Writes arrays to one safetensors file, with metadata in its header."""
  # The library would write a transposed view in the wrong order.
  ordered = {name: np.asarray(v, order='C') for name, v in arrays.items()}
  data = safetensors.numpy.save(ordered, dict(metadata) if metadata else None)
  with tf.io.gfile.GFile(path, 'wb') as file:
    file.write(data)


def read(path: str) -> dict[str, np.ndarray]:
  """Reads a safetensors file; UserError if it is missing or damaged."""
  if not tf.io.gfile.exists(path):
    raise errors.UserError(f'Weights must exist. Found no file {path}.')
  data = input_files.read(path)
  try:
    return safetensors.numpy.load(data)
  except (SafetensorError, ValueError, TypeError) as error:
    raise _damaged(path, error) from error


def open_file(path: str) -> Any:
  """Opens a local safetensors file without reading tensors."""
  input_files.check(path)
  try:
    return safetensors.safe_open(path, 'np')
  except (SafetensorError, OSError, ValueError, TypeError) as error:
    raise _damaged(path, error) from error


def assign(
  variables: Iterable[tf.Variable], arrays: Mapping[str, np.ndarray]
) -> LoadReport:
  """Assigns arrays to variables by name; UserError if a shape differs."""
  named = by_name(variables)
  used = sorted(named.keys() & arrays.keys())
  for name in used:
    if tuple(named[name].shape) != arrays[name].shape:
      raise errors.UserError(
        f'Weights {name} must have shape {tuple(named[name].shape)} by the '
        f'config. Found {arrays[name].shape}. Use the config of their training.'
      )
  for name in used:
    named[name].assign(arrays[name])
  return LoadReport(
    used,
    sorted(named.keys() - arrays.keys()),
    sorted(arrays.keys() - named.keys()),
  )


def fingerprint(
  arrays: Mapping[str, np.ndarray], without_prefixes: Sequence[str] = ()
) -> str:
  """Returns the sha256 of names, shapes and values, sorted by name.

  At most one of `without_prefixes` is removed from each name.
  """
  digest = hashlib.sha256()
  for name, value in sorted(arrays.items()):
    prefix = next((p for p in without_prefixes if name.startswith(p)), '')
    name = name.removeprefix(prefix)
    digest.update(f'{name}{value.dtype}{value.shape}'.encode())
    digest.update(value.tobytes())
  return digest.hexdigest()


def _damaged(path, error):
  return errors.UserError(
    f'{path} must be a whole safetensors file. Found: {error}. Copy it again.'
  )
