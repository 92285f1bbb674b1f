"""The service over HTTP: routes, token, errors and metrics.

Starlette has the routes. No part of a route is variable; no request names a
file.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
import json
import pathlib
import time
import traceback
from typing import Any

from absl import logging
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

Content = dict[str, Any] | bytes  # For JSON, or a text for Prometheus.
Handler = Callable[..., Coroutine[Any, Any, Content]]
Endpoint = Callable[[requests.Request], Awaitable[responses.Response]]


def make_app(
  service: service_lib.Service, settings: handlers.Settings
) -> applications.Starlette:
  """Returns the ASGI application."""
  api = handlers.Api(service, settings)

  def route(
    path: str, handler: Handler, kind: type[bodies.Body] | None = None
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
  kind: type[bodies.Body] | None,
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
