"""Reads the body of a request: not too much of it, and not forever."""

import asyncio
from collections.abc import AsyncIterator
from typing import Optional

from realm_tf.serving import rest_api

# Of a body that is too large so much is still read, and thrown away: a client
# that is cut off while it sends would not read the answer.
_MOST_DRAINED = 16 << 20


async def read(
  parts: AsyncIterator[bytes],
  declared: Optional[str],
  at_most: int,
  timeout_secs: float,
) -> bytes:
  """Returns the body.

  Args:
    parts: Of the body, as they come in.
    declared: The Content-Length header, if there is one.
    at_most: Bytes.
    timeout_secs: For all of it.

  Raises:
    RequestError: 413 if it is too large, 408 if it does not come.
  """
  body, size = [], 0
  too_large = rest_api.RequestError(
    413, f'The body may have {at_most} bytes. It has more.'
  )
  if declared is not None and int(declared) > _MOST_DRAINED:
    raise too_large  # HTTP's parser took the number for one.

  async def gather():
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
    raise rest_api.RequestError(
      408, f'The body must come within {timeout_secs:g} seconds.'
    ) from error
  if size > at_most:
    raise too_large
  return b''.join(body)
