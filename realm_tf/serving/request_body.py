"""The body of a request -> a JSON object and checked texts.

A client's mistake raises RequestError with its HTTP status.
"""

import asyncio
from collections.abc import AsyncIterator
import re
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf import json_text

# A body that is too large is read and dropped up to this size, because a client
# reads the reply only after it has sent the body.
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
# Control characters but for tab, line feed and carriage return.
_CONTROLS = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')


class Limits(NamedTuple):
  """Most questions in a request, and most characters in a text."""

  questions: int = 128
  characters: int = 4096


async def read(
  parts: AsyncIterator[bytes],
  declared: Optional[str],
  at_most: int,
  timeout_secs: float,
) -> bytes:
  """Returns the whole body of at most `at_most` bytes.

  `declared` is the Content-Length header, if any. Raises RequestError: 413 for
  a larger body, 408 for a late one.
  """
  body, size = [], 0
  too_large = errors.RequestError(
    f'The body must have at most {at_most} bytes. Found more.', status=413
  )
  if declared is not None and int(declared) > _MOST_DRAINED:
    raise too_large

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
      f'The body must arrive within {timeout_secs:g} seconds.', status=408
    ) from error
  if size > at_most:
    raise too_large
  return b''.join(body)


def parse_json(body: bytes) -> dict[str, Any]:
  """Returns the JSON object in a body, or RequestError."""
  if not body.strip():
    raise errors.RequestError('The body must be a JSON object. Found no body.')
  _check_depth(body)
  try:
    parsed = json_text.parse(body, 'The body', '')
  except errors.UserError as error:
    raise errors.RequestError(str(error)) from error
  if not isinstance(parsed, dict):
    raise errors.RequestError(
      f'The body must be a JSON object. Found {kind_of(parsed)}.'
    )
  return parsed


def check_text(text: Any, what: str, characters: int) -> str:
  """Returns `text` if it is a valid string; `what` names it in RequestError."""
  if not isinstance(text, str):
    raise errors.RequestError(
      f'{what} must be a string. Found {kind_of(text)}.'
    )
  if not text.strip():
    raise errors.RequestError(f'{what} must not be empty.')
  if len(text) > characters:
    raise errors.RequestError(
      f'{what} must have at most {characters} characters. Found {len(text)}.'
    )
  if _CONTROLS.search(text):
    raise errors.RequestError(f'{what} must not have control characters.')
  return text


def kind_of(value: Any) -> str:
  """Returns JSON's name of a value's type, for error messages."""
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
