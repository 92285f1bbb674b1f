"""The bodies of requests: bytes -> checked structs.

A client's mistake raises RequestError with its HTTP status; the message names
the place in the body, such as `$.instances[0]`.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, TypeVar

import msgspec

from realm_tf import errors
from realm_tf.serving import changes

MAX_QUESTIONS = 128  # In one request.
MAX_DOCUMENTS = 64  # Added and removed documents of a request together.
# A body that is too large is read and dropped up to this size, because a client
# reads the reply only after it has sent the body.
_MOST_DRAINED = 16 << 20
# Some visible character, and no control character but for tab, line feed and
# carriage return.
_PATTERN = r'(?s)\A(?=.*\S)[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*\Z'
Text = Annotated[str, msgspec.Meta(max_length=4096, pattern=_PATTERN)]
Name = Annotated[str, msgspec.Meta(max_length=1000, pattern=_PATTERN)]
LongText = Annotated[str, msgspec.Meta(max_length=100_000, pattern=_PATTERN)]


class Body(msgspec.Struct, forbid_unknown_fields=True):
  """A JSON object with all of the struct's fields and no others."""


class Predict(Body):
  """Questions to answer together."""

  instances: Annotated[list[Text], msgspec.Meta(min_length=1)]


class Question(Body):
  """A question of the page."""

  question: Text


class Sentence(Body):
  """A sentence with [MASK]."""

  sentence: Text


class Words(Body):
  """Words to search."""

  text: Text


class Block(Body):
  """The id of a block."""

  block_id: int


class Edit(Body):
  """A new text of a block; null restores its own text."""

  block_id: int
  text: Text | None


class Document(Body):
  """A document with an id of its own."""

  id: Name
  title: Name
  text: LongText


class Documents(Body):
  """Changes of documents, which are made as a whole or not at all."""

  add: list[Document]
  remove: list[Name]

  def change(self) -> changes.Change:
    """Returns the change; RequestError if it has no or too many documents."""
    ids = [each.id for each in self.add] + self.remove
    if not 1 <= len(ids) <= MAX_DOCUMENTS:
      raise errors.RequestError(
        f'A request must have 1 to {MAX_DOCUMENTS} documents. Found {len(ids)}.'
      )
    if len(set(ids)) < len(ids):
      raise errors.RequestError('The ids of a request must be different.')
    added = {d.id: changes.Document(d.id, d.title, d.text) for d in self.add}
    return added | dict.fromkeys(self.remove)


AnyBody = TypeVar('AnyBody', bound=Body)


async def read(
  parts: AsyncIterator[bytes],
  declared: str | None,
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


def parse(body: bytes, kind: type[AnyBody]) -> AnyBody:
  """Returns the struct of a JSON body, or raises RequestError."""
  try:
    return msgspec.json.decode(body.removeprefix(b'\xef\xbb\xbf'), type=kind)
  except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
    found = str(error)
    if 'matching regex' in found:
      place = found.rpartition(' at ')[2]
      raise errors.RequestError(
        f'{place} must not be empty, and have no control characters.'
      ) from error
    raise errors.RequestError(
      f'The body must be a JSON object in UTF-8. {found[:150]}.'
    ) from error
