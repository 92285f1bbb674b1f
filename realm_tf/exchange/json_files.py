"""Reads and checks the JSON files of a Hugging Face directory."""

from collections.abc import Mapping
import os
from typing import Any, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text

SIZE = json_text.count(1)
_ADVICE = 'Choose another model, or copy it again.'

Fields = Mapping[str, json_text.Shape]


def read(directory: str, name: str, fields: Fields) -> Optional[dict[str, Any]]:
  """Checks a file; returns its object without nulls, or None for no file."""
  path = os.path.join(directory, name)
  if not tf.io.gfile.exists(path):
    return None
  return check(json_text.read_object(path, 'Copy it again.'), fields, path)


def require(directory: str, name: str, fields: Fields) -> dict[str, Any]:
  """Does `read`; UserError without the file."""
  values = read(directory, name, fields)
  if values is None:
    raise errors.UserError(
      f'A Hugging Face directory must have a {name}. Found none in '
      f'{directory}. Check --source=hf:DIR.'
    )
  return values


def check(values: Any, fields: Fields, path: str) -> dict[str, Any]:
  """Checks an object; returns it without its nulls, which count as missing."""
  if isinstance(values, dict):
    values = {name: v for name, v in values.items() if v is not None}
  return json_text.check(values, fields, path, _ADVICE)


def wrong(path: str, must: str, found: Any) -> errors.UserError:
  """Returns the error for wrong content of a file."""
  return errors.UserError(f'{path} must {must}. Found {found}. {_ADVICE}')
