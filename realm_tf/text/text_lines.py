"""Reads lines of text that somebody types, or pipes."""

from collections.abc import Iterator
from typing import BinaryIO

from realm_tf import errors

_BYTE_ORDER_MARK = b'\xef\xbb\xbf'


def read(stream: BinaryIO, name: str = 'Standard input') -> Iterator[str]:
  """Yields the lines that are not blank, as soon as each is complete.

  Raises:
    UserError: A line is not UTF-8.
  """
  for number, line in enumerate(stream, 1):
    try:
      text = line.removeprefix(_BYTE_ORDER_MARK * (number == 1)).decode('utf-8')
    except UnicodeDecodeError as error:
      raise errors.UserError(
        f'{name} must be UTF-8; line {number} is not ({error.reason}). Convert '
        'it.'
      ) from error
    if text.strip():
      yield text.strip()
