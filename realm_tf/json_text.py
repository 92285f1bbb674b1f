"""Parses JSON that somebody else wrote: whatever is wrong is one line.

  bytes or text of a file, or of a request -> [this file] -> value, or UserError

Python's parser ends with four kinds of exceptions on such text, among them
RecursionError, and returns strings that no file can hold. All JSON that comes
from outside of the process is parsed here.
"""

import json
import re
from typing import Any

from realm_tf import errors

_DECODER = json.JSONDecoder()
_SURROGATE = re.compile('[\ud800-\udfff]')
_UTF16_MARKS = (b'\xff\xfe', b'\xfe\xff')


def parse(text: bytes | str, where: str, advice: str = 'Correct it.') -> Any:
  """Returns the value that `text` is the JSON of.

  A byte order mark at the beginning is left out.

  Args:
    text: JSON; bytes are UTF-8.
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
    if '\\u' in text:  # Only an escape can bring half of a pair into `value`.
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
  """Returns the value that begins at `start` of a text, and where it ends.

  Raises:
    JSONDecodeError: There is none, or the text ends within it.
    ValueError: As `parse`; the message says what is wrong.
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
  """Returns `parse`'s value; UserError unless it is an object."""
  value = parse(text, where, advice)
  if not isinstance(value, dict):
    raise errors.UserError(
      f'{where} must be a JSON object. Found a {type(value).__name__}. {advice}'
    )
  return value


def decode(data: bytes) -> str:
  """Returns UTF-8 as text; ValueError says what other encoding it seems."""
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
