"""Streams the objects of a JSON file: lines, one array, or indented objects.

The field's question files (DPR, FiD) are one array, often of gigabytes, and
SQuAD's are one object, on one line or indented.
"""

from collections.abc import Iterator
import itertools
import json
import re
from typing import Any, Optional

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files

_CHUNK = 1 << 20  # Characters read at once.
_SPACE = re.compile(r'\s*')
_LONGEST_WORD = 16  # Characters of a JSON word, e.g. 'false', or an escape.
_NUM_FIRST = 2  # Lines that tell lines of objects from one indented object.


def read(
  path: str, counts: Optional[counts_lib.Counts] = None
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields ('file:line', object) of JSON lines, of an array, or of objects.

  Args:
    path: File, plain or compressed.
    counts: May skip bad lines. Of an array or of indented objects the rest is
      lost after what is no JSON.

  Raises:
    UserError: The file is unreadable, or is no JSON from some line on.
  """
  counts = counts or counts_lib.Counts()
  first = _first_lines(files.head(path))
  if first and first[0].startswith('['):
    return _read_array(_Text(path), counts)
  if len(first) == _NUM_FIRST and not any(map(_is_object, first)):
    return _read_values(_Text(path), counts)
  return files.read_json_lines(path, counts)


def _first_lines(head: bytes) -> list[str]:
  text = head.decode('utf-8', 'replace').removeprefix(files.BYTE_ORDER_MARK)
  lines = filter(None, map(str.strip, text.splitlines()))
  return list(itertools.islice(lines, _NUM_FIRST))


def _is_object(line: str) -> bool:
  try:
    return isinstance(json_text.take(line, 0)[0], dict)
  except ValueError:
    return False


class _Text:
  """The text of a file, of which only what is needed next is in memory."""

  def __init__(self, path: str):
    self._path = path
    self._lines = (line for _, line in files.read_lines(path))
    self._text, self._at, self._number = '', 0, 1

  @property
  def where(self) -> str:
    return f'{self._path}:{self._number}'

  def next_mark(self) -> str:
    """Returns the next character that is no space; '' at the end."""
    while True:
      self._move(_SPACE.match(self._text, self._at).end())
      if self._at < len(self._text):
        return self._text[self._at]
      if not self._grow():
        return ''

  def take(self, marks: str) -> str:
    """Returns and passes the next character, which must be one of `marks`."""
    mark = self.next_mark()
    if not mark or mark not in marks:
      found = repr(mark) if mark else 'the end of the file'
      raise self.error(f'must have {" or ".join(marks)}; found {found}')
    self._move(self._at + 1)
    return mark

  def take_value(self) -> Any:
    """Returns and passes a JSON value that is longer than a word."""
    while True:
      try:
        value, end = json_text.take(self._text, self._at)
      except json.JSONDecodeError as error:
        is_cut = (
          error.pos > len(self._text) - _LONGEST_WORD
          or 'Unterminated' in error.msg
        )
        if not is_cut or not self._grow():
          self._move(max(self._at, min(error.pos, len(self._text))))
          raise self.error(f'must be JSON; {error.msg}') from error
      except ValueError as error:
        problem = str(error).partition(';')[0]
        raise errors.UserError(
          f'{self.where} must be JSON; {problem}. Correct it.'
        ) from error
      else:
        self._move(end)
        return value

  def _move(self, end: int):
    self._number += self._text.count('\n', self._at, end)
    self._at = end

  def _grow(self) -> bool:
    """Reads as much again as is not yet passed; False at the end."""
    parts, number = [], 0
    # Doubles, so that a long value is not parsed again for every line.
    wanted = max(_CHUNK, len(self._text) - self._at)
    while number < wanted and (line := next(self._lines, '')):
      parts.append(line)
      number += len(line)
    if parts:
      self._text, self._at = self._text[self._at :] + ''.join(parts), 0
    return bool(parts)

  def error(self, problem: str) -> errors.UserError:
    return errors.UserError(
      f'{self.where} {problem}. The file is cut off or damaged: copy it again.'
    )


def _read_array(
  text: _Text, counts: counts_lib.Counts
) -> Iterator[tuple[str, dict[str, Any]]]:
  text.take('[')
  is_empty = text.next_mark() == ']'
  mark = text.take(']') if is_empty else ','
  while mark == ',':
    yield from _take_object(text, counts)
    mark = text.take(',]')
  if text.next_mark():
    raise text.error('must be the end of the array and of the file')


def _read_values(
  text: _Text, counts: counts_lib.Counts
) -> Iterator[tuple[str, dict[str, Any]]]:
  while text.next_mark():
    yield from _take_object(text, counts)


def _take_object(text, counts) -> Iterator[tuple[str, dict[str, Any]]]:
  text.next_mark()
  where, record = text.where, text.take_value()
  if isinstance(record, dict):
    yield where, record
  else:
    counts.error(
      errors.UserError(
        f'{where} must be a JSON object; it is a {type(record).__name__}. '
        'Correct it.'
      )
    )
