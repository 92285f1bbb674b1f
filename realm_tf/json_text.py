"""Parses all JSON from outside of the process, with errors of one line.

Python's parser raises four kinds of exceptions, such as RecursionError, and
returns strings that cannot be written to a file.
"""

import json
import re
from typing import Any

from realm_tf import errors

_DECODER = json.JSONDecoder()
_SURROGATE = re.compile('[\ud800-\udfff]')
_UTF16_MARKS = (b'\xff\xfe', b'\xfe\xff')


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
