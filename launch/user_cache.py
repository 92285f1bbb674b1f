"""JSON files; one in the user's cache folder outlives run directories.

It has the seconds of stages by key, and the hashes of inputs.
"""

import contextlib
import json
import os
from typing import Any

_MAX_ROWS = 5000


def load() -> dict[str, Any]:
  return read_json(_path())


def add(key: str, row: Any) -> None:
  """Adds a row; the oldest go. Without a cache folder, nothing happens."""
  rows = [*load().items(), (key, row)]
  with contextlib.suppress(OSError):
    write_json(_path(), dict(rows[-_MAX_ROWS:]))


def read_json(path: str) -> dict[str, Any]:
  """Returns a file's object; an empty one without a whole file."""
  try:
    with open(path) as file:
      return json.load(file)
  except (OSError, ValueError):
    return {}


def write_json(path: str, value: Any) -> None:
  """Writes a file whole: a reader sees the old one or the new one."""
  os.makedirs(os.path.dirname(path), exist_ok=True)
  part = f'{path}.{os.getpid()}.part'
  with open(part, 'w') as file:
    json.dump(value, file, indent=1)
  os.replace(part, path)


def _path() -> str:
  cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  return os.path.join(cache, 'realm_tf', 'recipes.json')
