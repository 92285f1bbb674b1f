"""Runs the application with uvicorn until a signal ends it.

After SIGTERM or Ctrl-C it answers the requests that have begun and takes no new
connection. A second signal ends it at once.
"""

import contextlib
import signal
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http import httptools_impl
import uvloop

from realm_tf import errors

_IDLE_SECS = 10
_MAX_CONNECTIONS = 512  # Below the usual limit of open files.
_MAX_HEADER_BYTES = 32 << 10
# Whole requests; far more than is read of a body that is too large.
_MAX_REQUEST_BYTES = 32 << 20
_BACKLOG = 256


class _Protocol(httptools_impl.HttpToolsProtocol):
  """Drops connections on which no request completes for too long.

  Without it, clients that send a byte a minute could hold all connections. The
  parser, unlike h11, does not bound the size of a request; this class does.
  """

  def connection_made(self, transport):
    super().connection_made(transport)
    self._num_bytes = 0  # Of the request that comes in.
    self._in_headers = True
    self._look_again(self.cycle)

  def data_received(self, data):
    if self.transport.is_closing():
      return
    self._num_bytes += len(data)
    super().data_received(data)
    if self.transport.is_closing():
      return
    if self._in_headers and self._num_bytes > _MAX_HEADER_BYTES:
      self.send_400_response('The headers are too long.')
    elif self._num_bytes > _MAX_REQUEST_BYTES:
      self.transport.close()

  def on_headers_complete(self):
    self._in_headers = False
    headers = sum(len(name) + len(value) for name, value in self.headers)
    if len(self.url) + headers > _MAX_HEADER_BYTES:
      raise ValueError('The headers are too long.')  # Becomes the parser's.
    super().on_headers_complete()

  def on_message_complete(self):
    self._num_bytes = 0
    self._in_headers = True
    super().on_message_complete()

  def _look_again(self, seen):
    self._timer = self.loop.call_later(
      self.config.timeout_keep_alive, self._look, seen
    )

  def _look(self, seen):
    is_idle = self.cycle is None or self.cycle.response_complete
    if is_idle and self.cycle is seen:
      self.transport.close()
    else:
      self._look_again(self.cycle)

  def connection_lost(self, exc):
    self._timer.cancel()
    super().connection_lost(exc)


class Server(uvicorn.Server):
  """Serves on a socket; `should_exit` set ends it gracefully.

  Args:
    drain_secs: Longest wait for requests that have begun.
    idle_secs: Longest time without a complete request on a connection.
  """

  def __init__(
    self, app: Any, drain_secs: int = 60, idle_secs: int = _IDLE_SECS
  ):
    super().__init__(
      uvicorn.Config(
        app,
        http=_Protocol,
        ws='none',
        loop='uvloop',
        lifespan='off',
        log_config=None,
        log_level='error',
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=idle_secs,
        timeout_graceful_shutdown=drain_secs,
      )
    )

  @contextlib.contextmanager
  def capture_signals(self):
    """Ends on signals and, unlike uvicorn, does not raise them again."""
    try:
      before = {
        number: signal.signal(number, self.handle_exit)
        for number in (signal.SIGINT, signal.SIGTERM)
      }
    except ValueError:  # Tests serve in another thread, where none arrive.
      before = {}
    try:
      yield
    finally:
      for number, handler in before.items():
        signal.signal(number, handler)

  def serve_on(self, listener: socket.socket) -> None:
    """Serves until a signal, or `should_exit`, ends it."""
    uvloop.run(self.serve([listener]))


def listen(host: str, port: int) -> socket.socket:
  """Returns a socket that listens; port 0 takes a free one.

  Raises:
    UserError: The address cannot be listened at.
  """
  try:
    family, kind, protocol, _, address = socket.getaddrinfo(
      host, port, type=socket.SOCK_STREAM
    )[0]
    # `protocol` tells asyncio that this is TCP. Without it, an answer's body
    # waits 40 ms for the client to confirm its headers.
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(_BACKLOG)
  except (OSError, OverflowError) as error:
    raise errors.UserError(
      f'--host and --port must be an address to listen at. {host}:{port} is '
      f'not: {error}. Choose another --port.'
    ) from error
  return listener
