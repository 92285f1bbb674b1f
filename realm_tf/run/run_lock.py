"""One job at a time writes a run directory; one of other code says so."""

from collections.abc import Iterator
import contextlib
import fcntl
import functools
import hashlib
import os
import pathlib

from absl import logging

from realm_tf import errors
from realm_tf import output_files

NAME = '.lock'
_HELD = contextlib.ExitStack()
_held: set[str] = set()  # Paths.
_GOING_ON = 'training', 'run'  # Jobs that leave parts for a later one.


@contextlib.contextmanager
def holding(directory: str, job: str) -> Iterator[None]:
  """Makes a directory, and holds it in the body; remote ones are not held.

  A file system without locks is named in a warning.

  Raises:
    UserError: Another job holds it, or it cannot be written.
  """
  if '://' in directory:
    yield
    return
  os.makedirs(directory, exist_ok=True)
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
    if job in _GOING_ON:
      with contextlib.suppress(OSError):  # A full disk.
        tell_of_other_code(directory, last_code(directory))
        pathlib.Path(path).write_text(code())
    yield


@functools.cache
def code() -> str:
  """Returns a hash of the package's modules, the release among them."""
  modules = sorted(pathlib.Path(__file__).parents[1].rglob('*.py'))
  text = b''.join(path.read_bytes() for path in modules)
  return hashlib.sha256(text).hexdigest()[:16]


def last_code(directory: str) -> str:
  """Returns `code` of the last job that wrote a directory; '' if none did."""
  path = pathlib.Path(directory, NAME)
  return path.read_text(errors='replace') if path.exists() else ''


def tell_of_other_code(directory: str, before: str) -> None:
  """Warns of a directory that goes on; `before` is `code` of its last job."""
  if before not in ('', code()):
    logging.warning(
      '%s was last written by other code: another release, or changed modules. '
      'It may have parts of both; begin in another directory for one.',
      directory,
    )


def hold(directory: str, job: str = 'training') -> None:
  """Holds a directory until the process ends."""
  path = os.path.realpath(directory)
  if path not in _held:
    _HELD.enter_context(holding(directory, job))
    _held.add(path)
