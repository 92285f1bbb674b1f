"""One job at a time writes a run directory; one of other code says so."""

from collections.abc import Iterator
import contextlib
import fcntl
import functools
import hashlib
import os
import pathlib
from typing import Any

from absl import logging

from realm_tf import errors
from realm_tf import output_files

NAME = '.lock'
_held: dict[str, Any] = {}  # By path.


@contextlib.contextmanager
def holding(directory: str, job: str) -> Iterator[None]:
  """Holds an existing local directory in the body, or until the process ends.

  A file system without locks is named in a warning.

  Raises:
    UserError: Another job holds it, or it cannot be written.
  """
  path = os.path.join(directory, NAME)
  output_files.check(path, is_file=True)
  with open(path, 'a') as file:
    try:
      fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
      raise errors.UserError(
        f'Only one {job} may write {directory}. Found another that still '
        'runs. Wait for it, or stop it.'
      ) from error
    except OSError as error:
      logging.warning(
        '%s cannot be locked (%s): start no second %s in it.',
        *(directory, error.strerror, job),
      )
    with contextlib.suppress(OSError):  # A full disk.
      before = pathlib.Path(path).read_text(errors='replace')
      tell_of_other_code(directory, before)
      pathlib.Path(path).write_text(code())
    yield


@functools.cache
def code() -> str:
  """Returns a hash of the package's modules, the release among them."""
  modules = sorted(pathlib.Path(__file__).parents[1].rglob('*.py'))
  text = b''.join(path.read_bytes() for path in modules)
  return hashlib.sha256(text).hexdigest()[:16]


def tell_of_other_code(directory: str, before: str) -> None:
  """Warns of a directory that goes on; `before` is `code` of its last job."""
  if before not in ('', code()):
    logging.warning(
      '%s was last written by other code: another release, or changed modules. '
      'It may have parts of both; begin in another directory for one.',
      directory,
    )


def hold(directory: str, job: str = 'training') -> None:
  """Makes and holds a directory until the process ends; remote ones not."""
  path = os.path.realpath(directory)
  if '://' not in directory and path not in _held:
    os.makedirs(directory, exist_ok=True)
    lock = holding(directory, job)
    lock.__enter__()
    _held[path] = lock


def remove(directory: str) -> None:
  """Removes the lock's file from a directory that is complete, as an export."""
  path = os.path.realpath(directory)
  if path in _held:
    os.remove(os.path.join(path, NAME))
