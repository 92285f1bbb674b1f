"""Flags of paths: files that must exist, and directories to write."""

from typing import Any

from absl import flags

from realm_tf import errors
from realm_tf import input_files

_EXISTING: list[tuple[flags.FlagHolder[Any], str]] = []


def existing(
  name: str,
  text: str,
  *,
  default: Any = None,
  required: bool = False,
  many: bool = False,
) -> flags.FlagHolder[Any]:
  """Defines a flag; without its files, the binary ends before any work."""
  kind = flags.DEFINE_multi_string if many else flags.DEFINE_string
  holder = kind(name, default, text, required=required)
  _EXISTING.append((holder, text))
  return holder


def new(name: str, text: str) -> flags.FlagHolder[str]:
  """Defines a flag that must be given: a directory to write."""
  return flags.DEFINE_string(name, None, text, required=True)


def check() -> None:
  """Raises UserError if a file of a flag is missing."""
  for flag, text in _EXISTING:
    value = flags.FLAGS[flag.name].value  # Also of a flag without its value.
    for item in [value] if isinstance(value, str) else value or []:
      parts = [item] if input_files.exist(item) else item.split(',')
      for path in filter(None, parts):
        if not input_files.exist(path):
          raise errors.UserError(
            f'--{flag.name} must name files that exist. Found nothing at '
            f'{path}. It takes: {text.rstrip(".")}.'
          )
