"""Opens a file for one server alone: the lock ends with the process.

The lock is on the file itself, so it holds by whatever name or link the file is
opened. Who replaces the file locks the new one before it takes the name.
"""

import fcntl
import os

from absl import logging

from realm_tf import errors
from realm_tf import input_files


def open_file(path: str) -> int:
  """Opens a file, or makes it, that no other server has.

  Raises:
    UserError: It is no file, or another server has it.
    OSError: It cannot be opened.
  """
  if input_files.kind(path):
    raise errors.UserError(
      f'--documents_log must be a file. {path} is none. Name another one.'
    )
  while True:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
      lock(file, path)
      # Its server may have put another one in its place meanwhile.
      if is_at(file, path):
        return file
    except BaseException:
      os.close(file)
      raise
    os.close(file)


def is_at(file: int, path: str) -> bool:
  """Whether `path` is the name of the open file."""
  try:
    return os.path.samestat(os.fstat(file), os.stat(path))
  except FileNotFoundError:
    return False


def lock(file: int, path: str) -> None:
  """Locks a file until it is closed or the process ends, however it does."""
  try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError as error:
    raise errors.UserError(
      f'--documents_log must have one server. Another one uses {path}. End '
      'that one, or name another file.'
    ) from error
  except OSError as error:  # Some network file systems have no locks.
    logging.warning(
      '%s cannot be locked: %s. See to it that no other server uses it.',
      *(path, error.strerror),
    )
