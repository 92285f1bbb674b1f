"""Checks the bearer token of requests, and which pages may change texts."""

from collections.abc import Mapping
import hmac
import ipaddress
from typing import Optional

from realm_tf import errors
from realm_tf import input_files

_FEWEST_CHARACTERS = 16
_MOST_CHARACTERS = 4096


def read_token(path: str) -> str:
  """Returns the token that is the only line of a file, or raises UserError."""
  try:
    token = input_files.read(path).decode('utf-8').strip()
  except (errors.UserError, UnicodeDecodeError) as error:
    raise errors.UserError(
      f'--token_file must be a text file that can be read. {path} is not.'
    ) from error
  if not _FEWEST_CHARACTERS <= len(token) <= _MOST_CHARACTERS or not (
    token.isascii() and token.isprintable() and ' ' not in token
  ):
    raise errors.UserError(
      f'--token_file must hold one token of {_FEWEST_CHARACTERS} to '
      f'{_MOST_CHARACTERS} ASCII characters without spaces. {path} does not. '
      'Make one with: openssl rand -hex 32.'
    )
  return token


def check_token(authorization: Optional[str], token: Optional[str]) -> None:
  """Raises RequestError, 401, unless the header has the server's token."""
  if token is None:
    return
  scheme, _, given = (authorization or '').partition(' ')
  # Takes equally long for any wrong token, so that time does not tell it.
  is_right = hmac.compare_digest(
    given.strip().encode('utf-8', 'replace'), token.encode('utf-8')
  )
  if scheme.lower() != 'bearer' or not is_right:
    raise errors.RequestError(
      'A request must bear the token: "Authorization: Bearer TOKEN".',
      status=401,
    )


def check_writer(headers: Mapping[str, str], token: Optional[str]) -> None:
  """Raises RequestError unless a request comes from our page or a program.

  A browser lets no foreign page send JSON here without asking first, and the
  server refuses that. But the owner of a foreign page can let its host name
  point to this server; then the Host header has that name.

  Args:
    headers: Headers of the request, by names in lower case.
    token: The server's token, already checked: no foreign page has it.
  """
  kind = headers.get('content-type', '').partition(';')[0].strip().lower()
  if kind != 'application/json':
    raise errors.RequestError('The body must be application/json.', status=415)
  if token is None and not _is_address(headers.get('host', '')):
    raise errors.RequestError(
      'Without a token, texts can be changed only at localhost or an IP '
      'address. Start the server with --token_file.',
      status=403,
    )


def _is_address(host: str) -> bool:
  if host.startswith('['):
    name = host[1:].partition(']')[0]
  else:
    name = host.partition(':')[0]
  try:
    ipaddress.ip_address(name)
  except ValueError:
    return name == 'localhost'
  return True
