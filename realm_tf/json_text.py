"""JSON: parses and checks all from outside of the process, and writes files.

  FIELDS = {'num_blocks': COUNT, 'files': OBJECT, 'links': optional(OBJECT)}
  check(read_object(path, advice), FIELDS, path, advice)

Errors have one line. Python's parser raises four kinds of exceptions, such as
RecursionError, and returns strings that cannot be written to a file. Fields are
declared as types, which msgspec checks; an object may have others. Processes
can read a file while another one replaces it.
"""

from collections.abc import Iterable, Iterator, Mapping
import functools
import json
import os
import re
import sys
from typing import Annotated, Any, Literal, get_args, get_origin
import uuid

import msgspec
from typing_extensions import NotRequired
from typing_extensions import TypedDict
from typing_extensions import get_type_hints

from realm_tf import errors
from realm_tf import input_files

_DECODER = json.JSONDecoder()
_SURROGATE = re.compile('[\ud800-\udfff]')
_UTF16_MARKS = (b'\xff\xfe', b'\xfe\xff')
Shape = Any  # A type that msgspec knows.
_MOST = 2**53  # Larger whole numbers are not exact in every JSON parser.
_SHOWN_CHARACTERS = 60
_FIELD = re.compile(r'at `\$\.([^`.\[]+)`$')  # The end of msgspec's errors.


def parse(text: bytes | str, where: str, advice: str = 'Correct it.') -> Any:
  """Returns the value of JSON in UTF-8, with or without a byte order mark.

  Args:
    where: File, or file and line, for the error.
    advice: Last sentence of the error.

  Raises:
    UserError: `text` is no JSON, not UTF-8, nested too deeply for Python, or
      has a number of thousands of digits or half of a surrogate pair.
  """
  try:
    if isinstance(text, bytes):
      text = decode(text)
    value = json.loads(text.removeprefix('\ufeff'))
    if '\\u' in text:  # Half of a pair can only come from an escape.
      _check_surrogates(value)
    return value
  except json.JSONDecodeError as error:
    line = f'line {error.lineno}, ' if error.lineno > 1 else ''
    problem = f'{line}column {error.colno}: {error.msg}'
  except RecursionError:
    problem = 'lists or objects are nested too deeply'
  except ValueError as error:
    problem = str(error).partition(';')[0]
  raise errors.UserError(f'{where} must be JSON. Found: {problem}. {advice}')


def take(text: str, start: int) -> tuple[Any, int]:
  """Returns the value that begins at `start`, and where it ends.

  Raises:
    JSONDecodeError: No complete value begins there.
    ValueError: Another fault of `parse`; the message names it.
  """
  try:
    value, end = _DECODER.raw_decode(text, start)
    if text.find('\\u', start, end) >= 0:
      _check_surrogates(value)
  except RecursionError as error:
    raise ValueError('lists or objects are nested too deeply') from error
  return value, end


def parse_object(
  text: bytes | str, where: str, advice: str = 'Correct it.'
) -> dict[str, Any]:
  """Like `parse`; UserError unless the value is an object."""
  value = parse(text, where, advice)
  if not isinstance(value, dict):
    raise errors.UserError(
      f'{where} must be a JSON object. Found a {type(value).__name__}. {advice}'
    )
  return value


def decode(data: bytes) -> str:
  """Decodes UTF-8; the ValueError says if it seems to be UTF-16."""
  if data.startswith(_UTF16_MARKS):
    raise ValueError('UTF-16, where UTF-8 is needed')
  try:
    return data.decode('utf-8')
  except UnicodeDecodeError as error:
    raise ValueError(f'bytes that are not UTF-8 ({error.reason})') from error


def _check_surrogates(value: Any) -> None:
  """Raises ValueError if a string of `value` has half of a surrogate pair."""
  match = _SURROGATE.search(json.dumps(value, ensure_ascii=False))
  if match:
    raise ValueError(
      f'half of a surrogate pair, \\u{ord(match.group()):04x}, which is no '
      'character'
    )


def count(at_least: int = 0, at_most: int = _MOST) -> Shape:
  """Returns the type of an integer in these bounds."""
  return Annotated[int, msgspec.Meta(ge=at_least, le=at_most)]


def number(at_least: float, at_most: float) -> Shape:
  """Returns the type of a number in these bounds."""
  return Annotated[float, msgspec.Meta(ge=at_least, le=at_most)]


COUNT = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
POSITIVE = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]
# Not NaN.
NUMBER = Annotated[
  float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)
]
SHA256 = Annotated[str, msgspec.Meta(pattern=r'\A[0-9a-f]{64}\Z')]


def one_of(*values: str | int | None) -> Shape:
  """Returns the type of one of `values`."""
  return Literal[values]


def optional(shape: Shape) -> Shape:
  """Returns the type of a field that may be left out."""
  return NotRequired[shape]


def object_of(fields: Mapping[str, Shape]) -> Shape:
  """Returns the type of an object that has `fields`; it may have others."""
  return TypedDict('Object', dict(fields))  # type: ignore[operator]


def fields_of(record: type[Any]) -> dict[str, Shape]:
  """Returns the fields of a NamedTuple whose types are str and int."""
  shapes = {str: str, int: COUNT}
  return {name: shapes[kind] for name, kind in get_type_hints(record).items()}


def check(
  value: Any, fields: Mapping[str, Shape], where: str, advice: str
) -> dict[str, Any]:
  """Returns `value` if it is an object that has `fields`."""
  convert(value, _object_of(tuple(fields.items())), where, advice)
  return value


def convert(value: Any, shape: Shape, where: str, advice: str) -> Any:
  """Returns `value` as the type of an object.

  Args:
    where: File, or file and line, for the error.
    advice: Last sentence of the error.

  Raises:
    UserError: Names the path of the first field that is missing or wrong.
  """
  try:
    return msgspec.convert(value, shape)
  except (msgspec.ValidationError, RecursionError) as error:
    found = str(error)
    if match := _FIELD.search(found):
      found += f', which is {shown(value[match[1]])}'
      field = get_type_hints(shape)[match[1]]
      if get_origin(field) is Literal:
        found += f' and must be one of {", ".join(map(str, get_args(field)))}'
    raise errors.UserError(
      f'{where} must have the right fields. Found: {found}. {advice}'
    ) from error


def holds(value: Any, shape: Shape) -> bool:
  """Returns whether a value has the type."""
  try:
    convert(value, shape, '', '')
  except errors.UserError:
    return False
  return True


@functools.cache
def _object_of(fields: tuple[tuple[str, Shape], ...]) -> Shape:
  # msgspec compiles each type once, in some 0.1 ms.
  return object_of(dict(fields))


def shown(value: Any) -> str:
  """Returns a short description of a value for an error."""
  if isinstance(value, (dict, list)):
    kind = 'an object' if isinstance(value, dict) else 'a list'
    return f'{kind} of {len(value)}'
  text = repr(value)
  if len(text) > _SHOWN_CHARACTERS:
    text = f'{text[:_SHOWN_CHARACTERS]}...'
  return text


def write(path: str, value: Any) -> None:
  """Writes or replaces a file; a reader sees all of the old or the new one.

  The file is written under another name and renamed, because POSIX shows
  half-written files. On an object store the rename is a cheap copy.
  """
  replace(path, json.dumps(value, indent=1, sort_keys=True).encode())


def write_lines(path: str, values: Iterable[Any]) -> None:
  """Writes or replaces a JSONL file of UTF-8, as `write` does."""
  lines = (json.dumps(value, ensure_ascii=False) + '\n' for value in values)
  replace(path, ''.join(lines).encode())


def replace(path: str, data: bytes) -> None:
  """Writes or replaces any file, as `write` does."""
  import tensorflow as tf  # Takes seconds, so not to read.

  folder, name = os.path.split(path)
  staging = os.path.join(folder, f'.{name}.{uuid.uuid4().hex}')
  with tf.io.gfile.GFile(staging, 'wb') as file:
    file.write(data)
  tf.io.gfile.rename(staging, path, overwrite=True)


def read(path: str, shape: Shape = Any) -> Any:
  """Returns the value of a file; None if missing, no JSON or of another shape.

  The value is converted to `shape`, such as a msgspec.Struct.
  """
  try:
    return convert(parse(input_files.read(path), path), shape, path, '')
  except errors.UserError:
    return None


def read_object(path: str, advice: str = 'Correct it.') -> dict[str, Any]:
  """Returns the object of a file; UserError if it is missing or no object."""
  return parse_object(input_files.read(path, advice), path, advice)


def read_lines(path: str, advice: str) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields the objects of a JSONL file, each with its place for errors."""
  for number, line in enumerate(input_files.read(path, advice).splitlines(), 1):
    where = f'{path}:{number}'
    yield where, parse_object(line, where, advice)
