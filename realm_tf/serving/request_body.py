"""The body of a request -> a JSON object, and texts that are safe to work on.

A client's mistake becomes a RequestError with its HTTP status.
"""

import asyncio
from collections.abc import AsyncIterator
import re
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf import json_text

# Bytes of a body that is too large which are still read, and thrown away: a
# client that is cut off while it sends would not read the answer.
_MOST_DRAINED = 16 << 20
_MAX_DEPTH = 8
_KINDS: dict[type, str] = {
  dict: 'an object',
  list: 'a list',
  str: 'a string',
  bool: 'a boolean',
  type(None): 'null',
}
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
# Of controls, only what separates words.
_CONTROLS = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')


class Limits(NamedTuple):
  """Most questions in a request, and most characters in each of its texts."""

  questions: int = 128
  characters: int = 4096


async def read(
  parts: AsyncIterator[bytes],
  declared: Optional[str],
  at_most: int,
  timeout_secs: float,
) -> bytes:
  """Returns a body of `at_most` bytes that comes within `timeout_secs`.

  Args:
    parts: The body's parts, as they come in.
    declared: The Content-Length header, if there is one.

  Raises:
    RequestError: 413 if it is too large, 408 if it does not come.
  """
  body, size = [], 0
  too_large = errors.RequestError(
    f'The body may have {at_most} bytes. It has more.', status=413
  )
  if declared is not None and int(declared) > _MOST_DRAINED:
    raise too_large  # HTTP's parser took the number for one.

  async def gather() -> None:
    nonlocal size
    async for part in parts:
      size += len(part)
      if size <= at_most:
        body.append(part)
      elif size > _MOST_DRAINED:
        return

  try:
    await asyncio.wait_for(gather(), timeout_secs)
  except asyncio.TimeoutError as error:
    raise errors.RequestError(
      f'The body must come within {timeout_secs:g} seconds.', status=408
    ) from error
  if size > at_most:
    raise too_large
  return b''.join(body)


def parse_json(body: bytes) -> dict[str, Any]:
  """Returns the JSON object of a body; RequestError if it has none."""
  if not body.strip():
    raise errors.RequestError('The body must be a JSON object. It is empty.')
  _check_depth(body)
  try:
    parsed = json_text.parse(body, 'The body', '')
  except errors.UserError as error:
    raise errors.RequestError(str(error)) from error
  if not isinstance(parsed, dict):
    raise errors.RequestError(
      f'The body must be a JSON object. Got {kind_of(parsed)}.'
    )
  return parsed


def check_text(text: Any, what: str, characters: int) -> str:
  """Returns `text` if it is a clean string; else RequestError about `what`."""
  if not isinstance(text, str):
    raise errors.RequestError(f'{what} must be a string. Got {kind_of(text)}.')
  if not text.strip():
    raise errors.RequestError(f'{what} must not be empty.')
  if len(text) > characters:
    raise errors.RequestError(
      f'{what} may have {characters} characters. Got {len(text)}.'
    )
  if _CONTROLS.search(text):
    raise errors.RequestError(f'{what} must not have control characters.')
  return text


def kind_of(value: Any) -> str:
  """Returns what JSON calls the type of `value`, for error messages."""
  return _KINDS.get(type(value), 'a number')


def _check_depth(body: bytes) -> None:
  if body.count(b'[') + body.count(b'{') <= _MAX_DEPTH:
    return
  depth = 0
  for bracket in re.finditer(rb'[\[\]{}]', _STRING.sub(b'', body)):
    depth += 1 if bracket.group() in b'[{' else -1
    if depth > _MAX_DEPTH:
      raise errors.RequestError(
        f'The body must be JSON of at most {_MAX_DEPTH} levels.'
      )
