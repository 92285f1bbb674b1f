"""Checks the bearer token of a request, and the right to change texts."""

from collections.abc import Mapping
import hmac
import ipaddress
import re

from realm_tf import errors
from realm_tf import input_files

_FEWEST_CHARACTERS = 16
_MOST_CHARACTERS = 4096


def read_token(path: str) -> str:
  """Returns the token in a file of one line, or raises UserError."""
  token = input_files.read(path).decode('ascii', 'replace').strip()
  if not _FEWEST_CHARACTERS <= len(token) <= _MOST_CHARACTERS or not (
    token.isascii() and token.isprintable() and ' ' not in token
  ):
    raise errors.UserError(
      f'--token_file must hold one token of {_FEWEST_CHARACTERS} to '
      f'{_MOST_CHARACTERS} ASCII characters without spaces. Found another '
      f'content ({path}). Make a token with: openssl rand -hex 32.'
    )
  return token


def check_token(authorization: str | None, token: str | None) -> None:
  """Raises RequestError, 401, unless the header contains the token."""
  if token is None:
    return
  scheme, _, given = (authorization or '').partition(' ')
  # A comparison in constant time does not leak the token.
  is_right = hmac.compare_digest(
    given.strip().encode('utf-8', 'replace'), token.encode('utf-8')
  )
  if scheme.lower() != 'bearer' or not is_right:
    raise errors.RequestError(
      'A request must have the header "Authorization: Bearer TOKEN".',
      status=401,
    )


def check_writer(headers: Mapping[str, str], token: str | None) -> None:
  """Raises RequestError if a page of another site may have sent the request.

  Browsers send JSON to another site only after a preflight request, which this
  server refuses. DNS rebinding avoids the preflight: a site's name then points
  to this server, and the Host header has that name. No other site knows a token
  that is already checked. `headers` have names in lower case.
  """
  kind = headers.get('content-type', '').partition(';')[0].strip().lower()
  if kind != 'application/json':
    raise errors.RequestError('The body must be application/json.', status=415)
  if token is None and not _is_address(headers.get('host', '')):
    raise errors.RequestError(
      'Without a token, texts can be changed only through localhost or an IP '
      'address. Start the server with --token_file.',
      status=403,
    )


def _is_address(host: str) -> bool:
  name = re.sub(r':\d+$', '', host).strip('[]')
  try:
    return name == 'localhost' or bool(ipaddress.ip_address(name))
  except ValueError:
    return False
