"""The service over HTTP: routes, token, errors, metrics, and the server itself.

Starlette has the routes, and granian the connections. No part of a route is
variable; no request names a file.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
import json
import pathlib
import resource
import signal
import socket
import threading
import time
import traceback
from typing import Any, Optional

from absl import logging
from granian import constants
from granian import http
from granian import net
from granian.server import embed
import msgspec
from starlette import applications
from starlette import exceptions
from starlette import requests
from starlette import responses
from starlette import routing

from realm_tf import errors
from realm_tf.serving import access
from realm_tf.serving import bodies
from realm_tf.serving import handlers
from realm_tf.serving import service as service_lib

_STATIC = pathlib.Path(__file__).parent / 'static'
_MEDIA_TYPES = {
  '.html': 'text/html',
  '.json': 'application/json',
  '.css': 'text/css',
  '.js': 'text/javascript',
}
_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
  ),
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}
# A connection closes where unread bytes of the body may remain.
_ERROR_HEADERS = {
  401: {'WWW-Authenticate': 'Bearer'},
  408: {'Connection': 'close'},
  413: {'Connection': 'close'},
  429: {'Retry-After': '1'},
  503: {'Connection': 'close', 'Retry-After': '1'},
}
_PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'
_IDLE_SECS = 10.0
_MAX_HEADER_BYTES = 32 << 10  # Also the buffer of a connection.
_MAX_CONNECTIONS = 1024
_OTHER_FILES = 512  # Open files of the model and the corpus.
_BACKLOG = 128

Content = dict[str, Any] | bytes  # For JSON, or a text for Prometheus.
Handler = Callable[..., Coroutine[Any, Any, Content]]
Endpoint = Callable[[requests.Request], Awaitable[responses.Response]]


def make_app(
  service: service_lib.Service, settings: handlers.Settings
) -> applications.Starlette:
  """Returns the ASGI application."""
  api = handlers.Api(service, settings)

  def route(
    path: str, handler: Handler, kind: Optional[type[bodies.Body]] = None
  ) -> routing.Route:
    endpoint = _endpoint(path, handler, kind, service, settings)
    return routing.Route(path, endpoint, methods=['POST' if kind else 'GET'])

  async def ready(_: requests.Request) -> responses.Response:
    return _text('ready\n') if service.is_ready else _text('not ready\n', 503)

  async def metrics() -> bytes:
    return service.metrics.text()

  return applications.Starlette(
    routes=[
      route('/v1/models/realm:predict', api.predict, bodies.Predict),
      route('/api/about', api.about),
      route('/api/ask', api.ask, bodies.Question),
      route('/api/compare', api.compare, bodies.Question),
      route('/api/complete', api.complete, bodies.Sentence),
      route('/api/search', api.search, bodies.Words),
      route('/api/article', api.article, bodies.Block),
      route('/api/edit', api.edit, bodies.Edit),
      route('/api/documents', api.documents, bodies.Documents),
      route('/metrics', metrics),
      routing.Route('/readyz', ready),
      # A response is an application that ignores the request's content.
      routing.Route('/healthz', _text('ok\n'), methods=['GET']),
      *map(_file, sorted(_STATIC.iterdir())),
    ],
    exception_handlers={exceptions.HTTPException: _unknown(service)},
  )


def _endpoint(
  name: str,
  handler: Handler,
  kind: Optional[type[bodies.Body]],
  service: service_lib.Service,
  settings: handlers.Settings,
) -> Endpoint:
  """Returns `handler` with checks of token and limits, errors and metrics."""

  async def answer(request: requests.Request) -> Content:
    headers = request.headers
    access.check_token(headers.get('authorization'), settings.token)
    if kind is None:
      return await handler()
    body = await bodies.read(
      request.stream(),
      headers.get('content-length'),
      settings.body_bytes,
      settings.body_timeout_secs,
    )
    if kind in (bodies.Edit, bodies.Documents):
      access.check_writer(headers, settings.token)
    work = handler(bodies.parse(body, kind))
    return await _in_time(work, request, settings.timeout_secs)

  async def endpoint(request: requests.Request) -> responses.Response:
    begun = time.monotonic()
    try:
      content = await answer(request)
      if isinstance(content, bytes):
        response = _text(content, media_type=_PROMETHEUS)
      else:
        response = _json(200, content)
    except errors.RequestError as error:
      response = _error(error.status, error.message)
    except requests.ClientDisconnect:
      response = _error(499, 'The client has gone.')
    except Exception:  # Details go only to the log.
      logging.log_every_n_seconds(
        *(logging.ERROR, '%s failed.\n%s', 60, name, traceback.format_exc())
      )
      response = _error(500, 'The server failed. Its log says why.')
    service.metrics.requests.labels(name, str(response.status_code)).inc()
    service.metrics.request_seconds.observe(time.monotonic() - begun)
    return response

  return endpoint


async def _in_time(
  work: Coroutine[Any, Any, Content],
  request: requests.Request,
  timeout_secs: float,
) -> Content:
  """Returns the result of `work`; RequestError if time or client is gone."""
  result = asyncio.ensure_future(work)
  gone = asyncio.ensure_future(_client_gone(request))
  try:
    await asyncio.wait(
      [result, gone], timeout=timeout_secs, return_when=asyncio.FIRST_COMPLETED
    )
    if result.done():
      return result.result()
    if gone.done():
      raise errors.RequestError('The client has gone.', status=499)
    raise errors.RequestError(
      f'No answer within {timeout_secs:g} seconds.', status=504
    )
  finally:
    gone.cancel()
    result.cancel()
    await asyncio.wait([result])  # Until its questions are cancelled.


async def _client_gone(request: requests.Request) -> None:
  """Returns when the client has disconnected; call it after the body."""
  while (await request.receive())['type'] != 'http.disconnect':
    pass


def _file(file: pathlib.Path) -> routing.Route:
  path = '/' if file.stem == 'index' else f'/{file.name}'
  content = _text(file.read_bytes(), media_type=_MEDIA_TYPES[file.suffix])
  return routing.Route(path, content, methods=['GET'])


def _text(
  content: str | bytes, code: int = 200, media_type: str = 'text/plain'
) -> responses.Response:
  return responses.Response(content, code, _HEADERS, media_type)


def _unknown(service: service_lib.Service) -> Callable[..., Any]:
  """Returns the handler of unknown routes and methods."""

  async def respond(
    request: requests.Request, error: exceptions.HTTPException
  ) -> responses.Response:
    service.metrics.requests.labels('other', str(error.status_code)).inc()
    what = json.dumps(f'{request.method} {request.url.path}')[:80]
    response = _error(error.status_code, f'{error.detail}: {what}.')
    response.headers.update(error.headers or {})
    return response

  return respond


def _json(code: int, content: dict[str, Any]) -> responses.Response:
  headers = {**_HEADERS, **_ERROR_HEADERS.get(code, {})}
  return responses.Response(
    msgspec.json.encode(content), code, headers, 'application/json'
  )


def _error(code: int, message: str) -> responses.Response:
  """Returns an error in TensorFlow Serving's form."""
  return _json(code, {'error': message})


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
  """Serves an application on a listening socket, which it closes.

  Args:
    idle_secs: Longest time of a connection without a complete header, or with
      an answer that its client does not read.
  """

  def __init__(
    self,
    app: applications.Starlette,
    listener: socket.socket,
    idle_secs: float = _IDLE_SECS,
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

    def on_signal(*_: Any) -> None:
      for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
      self.end()

    async def serve() -> None:
      self._running = asyncio.get_running_loop()
      # Tests serve in another thread, which gets no signal.
      if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
          signal.signal(each, on_signal)
      await self.serve()

    asyncio.run(serve())

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
