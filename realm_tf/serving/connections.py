"""The server: a listening socket, its connections, and its end.

granian has the connections. Nothing here knows the routes or the model.
"""

import asyncio
import resource
import signal
import socket
import threading
from typing import Any

from granian import constants
from granian import http
from granian import net
from granian.server import embed

from realm_tf import errors

_IDLE_SECS = 10.0
_MAX_HEADER_BYTES = 32 << 10  # Also the buffer of a connection.
_MAX_CONNECTIONS = 1024
_OTHER_FILES = 512  # Open files of the model and the corpus.
_BACKLOG = 128
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def listen(host: str, port: int) -> socket.socket:
  """Returns a listening socket, or UserError; port 0 takes a free port."""
  try:
    family, _, _, _, address = socket.getaddrinfo(
      host, port, type=socket.SOCK_STREAM
    )[0]
    return socket.create_server(
      address,
      family=family,
      backlog=_BACKLOG,
      dualstack_ipv6=family == socket.AF_INET6,
    )
  except (OSError, OverflowError) as error:
    raise errors.UserError(
      f'--host and --port must be a free address. Found {host}:{port}: '
      f'{error}. Choose another --port.'
    ) from error


def url(host: str, port: int) -> str:
  """Returns the address for a browser; IPv6 needs brackets."""
  return f'http://[{host}]:{port}/' if ':' in host else f'http://{host}:{port}/'


class Server(embed.Server):
  """Serves an ASGI application on a listening socket, which it closes.

  Args:
    idle_secs: Longest time of a connection without a complete header, or with
      an answer that its client does not read.
  """

  def __init__(
    self, app: Any, listener: socket.socket, idle_secs: float = _IDLE_SECS
  ):
    milliseconds = int(1000 * idle_secs)
    if hasattr(socket, 'TCP_USER_TIMEOUT'):  # Linux; connections inherit it.
      listener.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds
      )
    self._listener = listener
    super().__init__(
      app,
      interface=constants.Interfaces.ASGINL,
      http=constants.HTTPModes.http1,
      websockets=False,
      log_enabled=False,
      backlog=_BACKLOG,
      backpressure=_most_connections(),
      http1_settings=http.HTTP1Settings(
        header_read_timeout=milliseconds, max_buffer_size=_MAX_HEADER_BYTES
      ),
    )

  def _init_shared_socket(self) -> None:
    # granian would listen with SO_REUSEPORT, which does not notice another
    # server on the port, and does not tell which free port it took.
    holder: Any = net.SocketHolder  # Its stub lacks the arguments.
    self._ssp = None
    self._shd = holder(self._listener.detach(), False, _BACKLOG)

  def run(self) -> None:
    """Serves until SIGTERM, Ctrl-C or `end`, and answers running requests.

    A second signal ends the process at once.
    """

    async def serve() -> None:
      self._running = asyncio.get_running_loop()
      # Tests serve in another thread, which gets no signal.
      if threading.current_thread() is threading.main_thread():
        for each in _SIGNALS:
          # `signal.signal` would not wake a loop that waits for its sockets.
          self._running.add_signal_handler(each, self._on_signal)
      await self.serve()

    asyncio.run(serve())

  def _on_signal(self) -> None:
    for each in _SIGNALS:
      self._running.remove_signal_handler(each)
      signal.signal(each, signal.SIG_DFL)
    self.stop()

  def end(self) -> None:
    """Ends `run`; any thread may call it."""
    self._running.call_soon_threadsafe(self.stop)


def _most_connections() -> int:
  """Raises the limit of open files; returns how many connections it allows."""
  soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
  best = _MAX_CONNECTIONS + _OTHER_FILES
  files = best if most == resource.RLIM_INFINITY else min(most, best)
  resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files), most))
  return max(32, files - _OTHER_FILES)
