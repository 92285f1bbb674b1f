"""One training at a time writes a run directory."""

import fcntl
import os
from typing import IO

from absl import logging

from realm_tf import errors

_held: dict[str, IO[str]] = {}  # By path; open until the process ends.


def hold(directory: str) -> None:
  """Holds an existing directory until the process ends, however it ends.

  Remote directories, and file systems without locks, are not held.

  Raises:
    UserError: Another process holds it.
  """
  path = os.path.realpath(os.path.join(directory, '.lock'))
  if '://' in directory or path in _held:
    return
  file = open(path, 'w')  # noqa: SIM115, until the process ends.
  try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError as error:
    file.close()
    raise errors.UserError(
      f'Only one training may write {directory}. Found another that still '
      'runs. Wait for it, or stop it.'
    ) from error
  except OSError as error:
    logging.warning('%s cannot be locked: %s.', directory, error)
  _held[path] = file
