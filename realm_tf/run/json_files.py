"""Small JSON files that processes can read while another replaces them."""

from collections.abc import Iterable
import json
import os
from typing import Any
import uuid

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text


def write(path: str, value: Any) -> None:
  """Writes or replaces a file; a reader sees all of the old or the new one.

  The file is written under another name and renamed, because POSIX shows
  half-written files. On an object store the rename is a cheap copy.
  """
  replace(path, json.dumps(value, indent=1, sort_keys=True).encode())


def write_lines(path: str, values: Iterable[Any]) -> None:
  """Writes or replaces a JSONL file, as `write` does."""
  text = ''.join(json.dumps(value) + '\n' for value in values)
  replace(path, text.encode())


def read(path: str) -> Any:
  """Returns the value of a file, or None if it is missing or not JSON."""
  try:
    return json_text.parse(input_files.read(path), path)
  except errors.UserError:
    return None


def read_object(path: str, advice: str = 'Correct it.') -> dict[str, Any]:
  """Returns the object of a file; UserError if it is missing or no object."""
  return json_text.parse_object(input_files.read(path), path, advice)


def replace(path: str, data: bytes) -> None:
  """Writes or replaces any file, as `write` does."""
  folder, name = os.path.split(path)
  staging = os.path.join(folder, f'.{name}.{uuid.uuid4().hex}')
  with tf.io.gfile.GFile(staging, 'wb') as file:
    file.write(data)
  tf.io.gfile.rename(staging, path, overwrite=True)
