"""Reads a JSON file of a Hugging Face directory, each field with its type."""

import math
import os
import reprlib
from typing import Any, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text

_NAMES = {
  int: 'a whole number',
  float: 'a finite number',
  str: 'a text',
  bool: 'true or false',
  dict: 'an object',
  list: 'a list',
}
_REQUIRED = object()


class JsonFile:
  """The object of a file; a field that is null counts as missing.

  Attributes:
    path: The file.
    values: Its fields.
  """

  def __init__(self, path: str, values: dict[str, Any]):
    self.path = path
    self.values = values

  def get(self, name: str, kind: Any, default: Any = _REQUIRED) -> Any:
    """Returns a field; UserError if it is missing or of another type.

    Args:
      kind: int, float, str, bool, dict or list.
      default: Value of a missing field; without it, the field must be there.
    """
    value = self.values.get(name)
    if value is None and default is not _REQUIRED:
      return default
    if kind is float and type(value) is int and abs(value) < 1e300:
      value = float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
      found = 'none' if value is None else reprlib.repr(value)
      raise self.wrong(f'must have {name}, {_NAMES[kind]}', found)
    return value

  def wrong(self, must: str, found: str) -> errors.UserError:
    """Returns the error that this file `must` be otherwise."""
    return errors.UserError(
      f'{self.path} {must}. Found {found.rstrip(".")}. Choose another model, '
      'or copy it again.'
    )


def read(directory: str, name: str) -> Optional[JsonFile]:
  """Returns a file of a directory; None if there is none.

  Raises:
    UserError: It is no JSON object, or cannot be read.
  """
  path = os.path.join(directory, name)
  data = read_bytes(path)
  if data is None:
    return None
  return JsonFile(path, json_text.parse_object(data, path, 'Copy it again.'))


def require(directory: str, name: str) -> JsonFile:
  """Returns a file of a directory; UserError if there is none."""
  found = read(directory, name)
  if found is None:
    raise errors.UserError(
      f'A Hugging Face directory must have a {name}. Found none in '
      f'{directory}. Check --source=hf:DIR.'
    )
  return found


def read_bytes(path: str) -> Optional[bytes]:
  """Returns the contents of a file; None if there is none."""
  return input_files.read(path) if tf.io.gfile.exists(path) else None
