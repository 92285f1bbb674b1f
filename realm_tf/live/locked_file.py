"""Opens a file for one server at a time.

The lock is on the file, not on its name: it works through links too, and ends
with the process. A replacement must be locked before it gets the file's name.
"""

import fcntl
import os

from absl import logging

from realm_tf import errors
from realm_tf import input_files


def open_file(path: str) -> int:
  """Opens or creates a file and locks it; returns its descriptor.

  Raises UserError if another server uses the file or `path` is not a file.
  """
  if kind := input_files.kind(path):
    raise errors.UserError(
      f'--documents_log must be a file. Found {kind} ({path}). Name another '
      'file.'
    )
  while True:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
      lock(file, path)
      # The file may have been replaced between `open` and `lock`.
      if is_at(file, path):
        return file
    except BaseException:
      os.close(file)
      raise
    os.close(file)


def is_at(file: int, path: str) -> bool:
  """Whether `path` leads to the open file."""
  try:
    return os.path.samestat(os.fstat(file), os.stat(path))
  except FileNotFoundError:
    return False


def lock(file: int, path: str) -> None:
  """Locks a file until it is closed or the process ends or is killed."""
  try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError as error:
    raise errors.UserError(
      '--documents_log must be a file that no other server uses. Found a lock '
      f'on {path}. Stop the other server, or name another file.'
    ) from error
  except OSError as error:  # Some network file systems have no locks.
    logging.warning(
      'Cannot lock %s: %s. Make sure that no other server uses this file.',
      *(path, error.strerror),
    )
