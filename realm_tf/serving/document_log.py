"""Keeps added and removed documents on disk, so that a crash loses none.

  change -> one line, flushed to the disk -> acknowledged
  the lines, after a crash -> the same changes, in the same order

A line is JSON with its own checksum. A crash can cut the last line short: its
change was never acknowledged, so it is dropped. Anything else that is not as it
was written is refused.

A log that has become long is replaced, in one rename, by what is in force.
"""

from collections.abc import Sequence
import hashlib
import json
import os
from typing import Any, NamedTuple, Optional

from absl import logging

from realm_tf import errors

_MIN_BYTES = 1 << 20  # Of a log that is worth shortening.
_CHECKSUM = 'sha256'
_CORPUS = 'corpus_fingerprint'


class Document(NamedTuple):
  """An article: its id, title and text; no id occurs twice in a corpus."""

  article_id: str
  title: str
  text: str


class Change(NamedTuple):
  """What one request changes, as a whole or not at all.

  Attributes:
    add: Documents; one whose id is there already takes its place.
    remove: Ids of documents.
  """

  add: Sequence[Document] = ()
  remove: Sequence[str] = ()


class DocumentLog:
  """Appends changes to a file of one corpus.

  Args:
    path: A local file; made if it is not there.
    corpus_fingerprint: Corpus that the changes are of.

  Attributes:
    changes: Those that the file held when it was opened, the oldest first.

  Raises:
    UserError: The file is of another corpus, or damaged.
  """

  def __init__(self, path: str, corpus_fingerprint: str):
    self._path = path
    lines, num_bytes = _read_lines(path)
    if lines and lines[0].get(_CORPUS) != corpus_fingerprint:
      raise errors.UserError(
        f'{path} must hold changes of the corpus that is served, '
        f'{corpus_fingerprint[:12]}. Found those of '
        f'{str(lines[0].get(_CORPUS))[:12]}. Name another file, or remove it.'
      )
    self.changes = [_change(line) for line in lines[1:]]
    self._first = {_CORPUS: corpus_fingerprint}
    self._long_bytes = _MIN_BYTES
    self._file = open(path, 'ab')  # noqa: SIM115
    self._file.truncate(num_bytes)
    if not lines:
      self._write([self._first])
      _sync_directory(path)

  @property
  def is_long(self) -> bool:
    """Whether it has twice the bytes of when it was shortened, or more."""
    return self._file.tell() >= self._long_bytes

  def append(self, changes: Sequence[Change]) -> None:
    """Writes changes; they are on the disk when this returns.

    Raises:
      OSError: They could not be written; nothing of them is left in the file.
    """
    self._write(list(map(_content, changes)))

  def shorten(self, in_force: Change) -> None:
    """Replaces all changes by the one that has the effect of all of them.

    A crash leaves the old log or the new one. If the new one cannot be written,
    the old one stays.

    Raises:
      OSError: The new log may not survive a power cut.
    """
    parts = [Change([], in_force.remove), *(Change([d]) for d in in_force.add)]
    lines = map(_line, [self._first, *map(_content, parts)])
    aside = self._path + '.new'
    self._long_bytes = 2 * self._file.tell()  # Until then, if this fails.
    try:
      with open(aside, 'wb') as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
        num_bytes = file.tell()
      new = open(aside, 'ab')  # noqa: SIM115
      os.replace(aside, self._path)
    except OSError:
      logging.exception('Could not shorten %s.', self._path)
      return
    self._file.close()
    self._file = new
    self._long_bytes = max(_MIN_BYTES, 2 * num_bytes)
    _sync_directory(self._path)

  def close(self) -> None:
    self._file.close()

  def _write(self, contents: Sequence[dict[str, Any]]) -> None:
    before = self._file.tell()
    try:
      self._file.write(b''.join(map(_line, contents)))
      self._file.flush()
      os.fsync(self._file.fileno())
    except OSError:
      os.ftruncate(self._file.fileno(), before)
      raise


def _read_lines(path: str) -> tuple[list[dict[str, Any]], int]:
  """Returns the lines of a log and the bytes that they take."""
  if not os.path.exists(path):
    return [], 0
  with open(path, 'rb') as file:
    data = file.read()
  lines, start = [], 0
  while end := data.find(b'\n', start) + 1:
    content = _parse(data[start:end])
    if content is None:
      raise errors.UserError(
        f'{path} must be as it was written. Line {len(lines) + 1} is damaged. '
        'Restore the file, or remove it to serve the corpus alone.'
      )
    lines.append(content)
    start = end
  return lines, start  # What has no end was cut short by a crash.


def _line(content: dict[str, Any]) -> bytes:
  text = json.dumps({**content, _CHECKSUM: _checksum(content)})
  return text.encode('utf-8') + b'\n'


def _parse(line: bytes) -> Optional[dict[str, Any]]:
  """Returns a line's content; None if it is not what `_line` wrote."""
  try:
    content = json.loads(line)
    checksum = content.pop(_CHECKSUM)
  except (ValueError, AttributeError, KeyError, TypeError):
    return None
  return content if checksum == _checksum(content) else None


def _checksum(content: dict[str, Any]) -> str:
  text = json.dumps(content, sort_keys=True)
  return hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]


def _content(change: Change) -> dict[str, Any]:
  return {
    'add': [document._asdict() for document in change.add],
    'remove': list(change.remove),
  }


def _change(line: dict[str, Any]) -> Change:
  return Change([Document(**row) for row in line['add']], line['remove'])


def _sync_directory(path: str) -> None:
  """Makes the file's name survive a crash, as `fsync` does its content."""
  directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
  try:
    os.fsync(directory)
  finally:
    os.close(directory)
