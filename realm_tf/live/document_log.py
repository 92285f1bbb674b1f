"""Keeps added and removed documents on disk, so that a crash loses none.

A change is acknowledged after its line (`log_lines`) is flushed to the disk.
A start reads all changes again. A half line is cut off before the next write.
One rename replaces a long log by a log of the documents in force. A lock on the
file itself, which ends with the process, keeps other servers out.
"""

from collections.abc import Iterable, Sequence
import contextlib
import errno
import fcntl
import os
import stat
from typing import Any

from absl import logging

from realm_tf import errors
from realm_tf import input_files
from realm_tf.live import changes as changes_lib
from realm_tf.live import log_lines

_MIN_BYTES = 1 << 20  # Shorter logs are not shortened.


class DocumentLog:
  """Appends changes to the log of one corpus, a local file or a link to one.

  Attributes:
    changes: Changes of the file when it was opened, the oldest first.

  Raises:
    UserError: The file is not a log of this corpus, or another server uses it.
  """

  def __init__(self, path: str, corpus_fingerprint: str):
    self._path = os.path.realpath(path)
    self._header, self._origin = log_lines.first(corpus_fingerprint)
    self._long_bytes = _MIN_BYTES
    self._is_settled = False
    try:
      self._file = _open_locked(self._path)
      try:
        self.changes = self._read(corpus_fingerprint)
      except BaseException:
        os.close(self._file)
        raise
    except OSError as error:
      raise errors.UserError(
        '--documents_log must be a local file that can be written. Found: '
        f'{error.strerror} ({path}). Name another file.'
      ) from error

  def _read(self, corpus_fingerprint: str) -> list[changes_lib.Change]:
    with open(self._file, 'rb', closefd=False) as file:
      data = file.read()
    changes = []
    if data:
      log = log_lines.read(self._path, data, corpus_fingerprint)
      changes = [_change(self._path, content) for content in log.contents]
      self._chain, self._num_bytes = log.chain, log.num_bytes
    else:
      self._replace_file([])
    self._settle()
    self._count()
    return changes

  @property
  def is_long(self) -> bool:
    """Whether the file has 1 MiB and has doubled since it was shortened."""
    return self._num_bytes >= self._long_bytes

  def append(self, changes: Sequence[changes_lib.Change]) -> None:
    """Writes and flushes all changes, or none of them and raises OSError."""
    self._check_place()
    if not self._is_settled:
      self._settle()
    lines, chain = log_lines.chained(map(_content, changes), self._chain)
    data = b''.join(lines)
    try:
      _write(self._file, data, self._num_bytes)
      os.fsync(self._file)
    except OSError:
      self._is_settled = False
      with contextlib.suppress(OSError):  # The next `append` tries again.
        self._settle()
      raise
    self._num_bytes += len(data)
    self._chain = chain
    self._count()

  def shorten(self, in_force: changes_lib.Change) -> None:
    """Replaces all changes by one change with the same effect.

    After a crash or a failed write, the old log or the new one is complete.
    """
    parts = [
      changes_lib.Change([], in_force.remove),
      *(changes_lib.Change([d]) for d in in_force.add),
    ]
    self._long_bytes = 2 * self._num_bytes  # The next try, if this one fails.
    try:
      self._replace_file(map(_content, parts))
    except OSError as error:
      logging.error('Could not shorten %s: %s.', self._path, error.strerror)

  def close(self) -> None:
    os.close(self._file)

  def _check_place(self) -> None:
    """Raises OSError if another process cut, moved or replaced the file."""
    is_cut = os.fstat(self._file).st_size < self._num_bytes
    if is_cut or not _is_at(self._file, self._path):
      raise OSError(errno.ESTALE, f'{self._path} was changed by somebody else')

  def _settle(self) -> None:
    """Cuts off unacknowledged bytes; flushes the file and its directory."""
    os.ftruncate(self._file, self._num_bytes)
    os.fsync(self._file)
    directory = os.open(os.path.dirname(self._path), os.O_RDONLY)
    try:
      os.fsync(directory)
    finally:
      os.close(directory)
    self._is_settled = True

  def _count(self) -> None:
    """Writes the number of kept changes; the next `append` flushes it."""
    with contextlib.suppress(OSError):  # A number that is too low is harmless.
      number = log_lines.kept(self._chain.number)
      os.pwrite(self._file, number, len(self._header))

  def _replace_file(self, contents: Iterable[dict[str, Any]]) -> None:
    """Replaces the file, and its lock, by a new file with these changes."""
    aside = self._path + '.new'
    with contextlib.suppress(FileNotFoundError):
      os.unlink(aside)  # After a crash.
    new = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
      os.fchmod(new, stat.S_IMODE(os.fstat(self._file).st_mode))
      _lock(new, aside)
      lines, chain = log_lines.chained(contents, self._origin)
      data = b''.join([self._header, log_lines.kept(chain.number), *lines])
      _write(new, data, 0)
      os.fsync(new)
      os.replace(aside, self._path)
    except BaseException:
      os.close(new)
      os.unlink(aside)
      raise
    os.close(self._file)
    self._file, self._chain, self._num_bytes = new, chain, len(data)
    self._long_bytes = max(_MIN_BYTES, 2 * len(data))
    self._is_settled = False  # The directory is not flushed yet.


def _open_locked(path: str) -> int:
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
      _lock(file, path)
      # The file may have been replaced between `open` and `lock`.
      if _is_at(file, path):
        return file
    except BaseException:
      os.close(file)
      raise
    os.close(file)


def _is_at(file: int, path: str) -> bool:
  try:
    return os.path.samestat(os.fstat(file), os.stat(path))
  except FileNotFoundError:
    return False


def _lock(file: int, path: str) -> None:
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


def _write(file: int, data: bytes, start: int) -> None:
  """Writes all of `data` at byte `start`, in several calls if necessary."""
  rest = memoryview(data)
  while rest:
    rest = rest[os.pwrite(file, rest, start + len(data) - len(rest)) :]


def _content(change: changes_lib.Change) -> dict[str, Any]:
  return {
    'add': [document._asdict() for document in change.add],
    'remove': list(change.remove),
  }


def _change(path: str, content: dict[str, Any]) -> changes_lib.Change:
  try:
    return changes_lib.Change(
      [changes_lib.Document(**row) for row in content['add']], content['remove']
    )
  except (KeyError, TypeError) as error:
    raise errors.UserError(
      f'{path} must contain changes of documents. Found {str(content)[:80]}. '
      'Name another file.'
    ) from error
