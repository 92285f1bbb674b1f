"""Streams the objects of a JSON file: lines, one array, or indented objects.

DPR's and FiD's files are one array, often of gigabytes; SQuAD's are one object.
"""

from collections.abc import Iterable, Iterator
import itertools
import json
import re
from typing import Any, cast

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files

_Records = Iterator[tuple[str, dict[str, Any]]]
_CHUNK = 1 << 20  # Characters read at once.
_SPACE = re.compile(r'\s*')
_LONGEST_WORD = 16  # Characters of a JSON word, e.g. 'false', or an escape.


def read(path: str, counts: counts_lib.Counts = counts_lib.STRICT) -> _Records:
  """Yields ('file:line', object); `counts` may skip bad JSON lines.

  A syntax error in an array or in indented objects always raises UserError.
  """
  # Two lines tell JSON lines from one indented object.
  first = files.first_lines(files.head(path), 2)
  is_array = bool(first) and first[0].startswith('[')
  if is_array or (len(first) == 2 and not any(map(_is_object, first))):
    return counts.parsed(_values(_Text(path), is_array), _object)
  return read_lines(path, counts)


def read_lines(
  path: str, counts: counts_lib.Counts = counts_lib.STRICT
) -> _Records:
  """Yields ('file:line', object) of each line; `counts` may skip bad ones."""
  lines = (
    (f'{path}:{number}', line.rstrip())
    for number, line in files.read_lines(path, counts)
    if line.strip()
  )
  return counts.parsed(
    lines, lambda where, line: json_text.parse_object(line, where)
  )


def read_texts(paths: Iterable[str]) -> Iterator[str]:
  """Returns each line's "text"; reports missing files at once."""
  found = [file for path in paths for file in files.find_files(path)]
  records = itertools.chain.from_iterable(map(read_lines, found))
  return itertools.starmap(_text, records)


def _text(where: str, record: dict[str, Any]) -> str:
  if not isinstance(record.get('text'), str):
    raise errors.UserError(
      f'{where} must have "text", a string. Found {record!r:.60}. Correct it.'
    )
  return record['text']


def _is_object(line: str) -> bool:
  try:
    return isinstance(json_text.take(line, 0)[0], dict)
  except ValueError:
    return False


def _object(where: str, value: Any) -> dict[str, Any]:
  if not isinstance(value, dict):
    raise errors.UserError(
      f'{where} must be a JSON object. Found {type(value).__name__}. Correct '
      'it.'
    )
  return value


def _values(text: '_Text', is_array: bool) -> Iterator[tuple[str, Any]]:
  """Yields ('file:line', value) of an array, or of values without commas."""
  if is_array:
    yield from _elements(text)
  while text.next_mark():
    if is_array:
      raise text.error('must be the end of the array and of the file')
    yield text.where, text.take_value()


def _elements(text: '_Text') -> Iterator[tuple[str, Any]]:
  text.take('[')
  mark = text.take(']') if text.next_mark() == ']' else ','
  while mark == ',':
    text.next_mark()
    yield text.where, text.take_value()
    mark = text.take(',]')


class _Text:
  """A position in the text of a file; only the next part is in memory."""

  def __init__(self, path: str):
    self._path = path
    self._lines = (line for _, line in files.read_lines(path))
    self._text, self._at, self._number = '', 0, 1

  @property
  def where(self) -> str:
    return f'{self._path}:{self._number}'

  def next_mark(self) -> str:
    """Skips white space; returns the next character, '' at the end."""
    while True:
      space = cast(re.Match, _SPACE.match(self._text, self._at))
      self._move(space.end())
      if self._at < len(self._text):
        return self._text[self._at]
      if not self._grow():
        return ''

  def take(self, marks: str) -> str:
    """Returns and passes the next mark; UserError if not in `marks`."""
    mark = self.next_mark()
    if not mark or mark not in marks:
      found = repr(mark) if mark else 'the end of the file'
      raise self.error(f'must have {" or ".join(marks)}. Found {found}')
    self._move(self._at + 1)
    return mark

  def take_value(self) -> Any:
    """Returns and passes a JSON value."""
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
        raise errors.UserError(
          f'{self.where} must be JSON; {str(error).partition(";")[0]}. '
          'Correct it.'
        ) from error
      else:
        self._move(end)
        return value

  def _move(self, end: int) -> None:
    self._number += self._text.count('\n', self._at, end)
    self._at = end

  def _grow(self) -> bool:
    """Doubles the text in memory; returns False at the end of the file."""
    parts, number = [], 0
    # Doubling bounds how often a long value is parsed again.
    needed = max(_CHUNK, len(self._text) - self._at)
    while number < needed and (line := next(self._lines, '')):
      parts.append(line)
      number += len(line)
    if parts:
      self._text, self._at = self._text[self._at :] + ''.join(parts), 0
    return bool(parts)

  def error(self, problem: str) -> errors.UserError:
    return errors.UserError(
      f'{self.where} {problem}. The file is cut off or damaged: copy it again.'
    )
