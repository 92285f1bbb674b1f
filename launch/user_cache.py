"""Small tables that outlive a run directory, in the user's cache folder."""

import contextlib
import json
import os
from typing import Any

_MAX_ROWS = 5000


def load(name: str) -> dict[str, Any]:
  try:
    with open(_path(name)) as file:
      return json.load(file)
  except (OSError, ValueError):  # None yet, or half of one.
    return {}


def add(name: str, rows: dict[str, Any]) -> None:
  """Adds rows; the oldest go. Without a cache folder, nothing happens."""
  table = load(name)
  for key in rows:
    table.pop(key, None)
  table = dict(list((table | rows).items())[-_MAX_ROWS:])
  with contextlib.suppress(OSError):
    write_json(_path(name), table)


def write_json(path: str, value: Any) -> None:
  """Writes a file whole: a reader sees the old one or the new one."""
  os.makedirs(os.path.dirname(path), exist_ok=True)
  part = f'{path}.{os.getpid()}.part'
  with open(part, 'w') as file:
    json.dump(value, file, indent=1)
  os.replace(part, path)


def _path(name: str) -> str:
  cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  return os.path.join(cache, 'realm_tf', f'{name}.json')
