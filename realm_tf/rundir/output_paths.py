"""Checks that a result can be written, before the work that makes it."""

import os
import tempfile

from realm_tf import errors


def check_directory(path: str) -> None:
  """Raises UserError if a local directory cannot be made or written."""
  _check(path, path)


def check_file(path: str) -> None:
  """Raises UserError if a local file cannot be written."""
  if os.path.isdir(path):
    raise errors.UserError(
      f'{path} must be a file to write; it is a directory. Name a file.'
    )
  _check(path, os.path.dirname(path) or '.')


def _check(path: str, folder: str) -> None:
  if '://' in path:
    return
  while not os.path.lexists(folder):
    folder = os.path.dirname(folder.rstrip('/')) or '.'
  try:
    with tempfile.TemporaryFile(dir=folder):
      pass
  except OSError as error:
    raise errors.UserError(
      f'{path} must be writable. Found {folder}: {error.strerror}. Choose '
      'another place.'
    ) from error
