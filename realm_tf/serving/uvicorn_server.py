"""Runs the application with uvicorn until SIGTERM or Ctrl-C.

Running requests are still answered; a second signal ends the server at once.
"""

import asyncio
from collections.abc import Iterator
import contextlib
import resource
import signal
import socket
from typing import Any, Optional

from absl import logging
import uvicorn
import uvloop

from realm_tf import errors
from realm_tf.serving import http_connection
from realm_tf.serving import metrics as metrics_lib

_IDLE_SECS = 10
_DRAIN_SECS = 60  # Longest wait for running requests.
_MAX_CONNECTIONS = 512
_OTHER_FILES = 256  # Open files of the model, the corpus and gRPC.
_BEST_FILES = 4096  # Limit of open files that the server sets if it may.
_BACKLOG = 128


class Server(uvicorn.Server):
  """An HTTP server; setting `should_exit` ends it gracefully.

  Args:
    idle_secs: Longest time without a complete request on a connection.
    max_connections: By default, the most that the limit of open files allows.
  """

  def __init__(
    self,
    app: Any,
    metrics: metrics_lib.Metrics,
    *,
    idle_secs: float = _IDLE_SECS,
    max_connections: Optional[int] = None,
  ):
    super().__init__(
      http_connection.Config(
        app,
        metrics,
        max_connections or _most_connections(),
        http=http_connection.Protocol,
        ws='none',
        loop='uvloop',
        lifespan='off',
        log_config=None,
        log_level='error',
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=idle_secs,
        timeout_graceful_shutdown=_DRAIN_SECS,
      )
    )

  @contextlib.contextmanager
  def capture_signals(self) -> Iterator[None]:
    """Shuts down on signals; uvicorn's method also raises them again."""
    try:
      before = {
        number: signal.signal(number, self.handle_exit)
        for number in (signal.SIGINT, signal.SIGTERM)
      }
    except ValueError:  # Tests serve in another thread, which gets no signal.
      before = {}
    try:
      yield
    finally:
      for number, handler in before.items():
        signal.signal(number, handler)

  def serve_on(self, listener: socket.socket) -> None:
    """Serves until a signal or `should_exit`."""

    async def serve() -> None:
      loop = asyncio.get_running_loop()
      loop.set_exception_handler(
        lambda _, context: logging.error(
          '%s: %s', context['message'], context.get('exception')
        )
      )
      await self.serve([listener])

    uvloop.run(serve())


def _most_connections() -> int:
  """Raises the limit of open files; returns how many connections it allows."""
  files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
  best = _BEST_FILES if most < 0 else min(most, _BEST_FILES)
  if 0 <= files < best:
    resource.setrlimit(resource.RLIMIT_NOFILE, (best, most))
    files = best
  room = files - _OTHER_FILES - 2 * _BACKLOG if files >= 0 else _BEST_FILES
  return max(_BACKLOG // 4, min(room, _MAX_CONNECTIONS))


def listen(host: str, port: int) -> socket.socket:
  """Returns a listening socket, or UserError; port 0 takes a free port."""
  try:
    family, kind, protocol, _, address = socket.getaddrinfo(
      host, port, type=socket.SOCK_STREAM
    )[0]
    # `protocol` tells the event loop that this is TCP. Without it, an answer's
    # body waits 40 ms for the client to confirm the headers.
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(_BACKLOG)
  except (OSError, OverflowError) as error:
    raise errors.UserError(
      f'--host and --port must be a free address. Found {host}:{port}: '
      f'{error}. Choose another --port.'
    ) from error
  return listener
