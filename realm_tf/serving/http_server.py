"""The service over HTTP: routes, token, errors and metrics, with Starlette.

Only a version's number is variable in a route; no request names a file.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
import json
import pathlib
import time
from typing import Any

from absl import logging
import orjson
from starlette import applications
from starlette import exceptions
from starlette import requests
from starlette import responses
from starlette import routing

from realm_tf import errors
from realm_tf.serving import access
from realm_tf.serving import handlers
from realm_tf.serving import http_connection
from realm_tf.serving import metrics as metrics_lib
from realm_tf.serving import request_body
from realm_tf.serving import service as service_lib
from realm_tf.serving import tf_serving_api

_STATIC = pathlib.Path(__file__).parent / 'static'
_MEDIA_TYPES = {
  '.html': 'text/html',
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
_MODEL_PATH = f'/v1/models/{tf_serving_api.MODEL_NAME}'

Handler = Callable[[handlers.Call], Coroutine[Any, Any, dict[str, Any]]]
Endpoint = Callable[[requests.Request], Awaitable[responses.Response]]


def make_app(
  service: service_lib.Service, settings: handlers.Settings
) -> applications.Starlette:
  """Returns the ASGI application."""
  api = handlers.Api(service, settings)

  def route(path: str, handler: Handler, method: str = 'GET') -> routing.Route:
    endpoint = _endpoint(path, handler, service, settings)
    return routing.Route(path, endpoint, methods=[method])

  def ready() -> responses.Response:
    if service.is_ready:
      return _text('ready\n')
    return _text('not ready\n', 503)

  async def metrics(request: requests.Request) -> responses.Response:
    try:
      access.check_token(request.headers.get('authorization'), settings.token)
    except errors.RequestError as error:
      return _error(error.status, error.message)
    return _text(service.metrics.text(), media_type=metrics_lib.MEDIA_TYPE)

  versions = (_MODEL_PATH, _MODEL_PATH + '/versions/{version:int}')
  return applications.Starlette(
    routes=[
      *(route(path, api.status) for path in versions),
      *(route(f'{path}/metadata', api.metadata) for path in versions),
      *(route(f'{path}:predict', api.predict, 'POST') for path in versions),
      route('/api/about', api.about),
      *(
        route(f'/api/{handler.__name__}', handler, 'POST')
        for handler in (
          *(api.ask, api.compare, api.complete),
          *(api.search, api.article, api.edit, api.documents),
        )
      ),
      _plain('/healthz', lambda: _text('ok\n')),
      _plain('/readyz', ready),
      routing.Route('/metrics', metrics),
      *map(_file, sorted(_STATIC.iterdir())),
    ],
    exception_handlers={exceptions.HTTPException: _unknown(service)},
  )


def _endpoint(
  name: str,
  handler: Handler,
  service: service_lib.Service,
  settings: handlers.Settings,
) -> Endpoint:
  """Returns `handler` with checks of token and limits, errors and metrics."""

  async def answer(request: requests.Request) -> dict[str, Any]:
    if request.scope['state'].get(http_connection.IS_FULL):
      raise errors.RequestError(
        'Too many connections. Try again later.', status=503
      )
    headers = request.headers
    access.check_token(headers.get('authorization'), settings.token)
    body = b''
    if request.method == 'POST':
      body = await request_body.read(
        request.stream(),
        headers.get('content-length'),
        settings.body_bytes,
        settings.body_timeout_secs,
      )
    version = request.path_params.get('version')
    work = handler(handlers.Call(body, headers, version))
    return await _in_time(work, request, settings.timeout_secs)

  async def endpoint(request: requests.Request) -> responses.Response:
    begun = time.monotonic()
    try:
      response = _json(200, await answer(request))
    except errors.RequestError as error:
      response = _error(error.status, error.message)
    except requests.ClientDisconnect:
      response = _error(499, 'The client has gone.')
    except Exception:  # Details go only to the log.
      logging.exception('%s failed.', name)
      response = _error(500, 'The server failed. Its log says why.')
    service.metrics.count(name, str(response.status_code), begun)
    return response

  return endpoint


async def _in_time(
  work: Coroutine[Any, Any, dict[str, Any]],
  request: requests.Request,
  timeout_secs: float,
) -> dict[str, Any]:
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


def _plain(
  path: str, respond: Callable[[], responses.Response]
) -> routing.Route:
  """Returns a route without a token, which ignores the request's content."""

  async def endpoint(request: requests.Request) -> responses.Response:
    del request
    return respond()

  return routing.Route(path, endpoint)


def _file(file: pathlib.Path) -> routing.Route:
  content, media_type = file.read_bytes(), _MEDIA_TYPES[file.suffix]
  path = '/' if file.stem == 'index' else f'/{file.name}'
  return _plain(path, lambda: _text(content, media_type=media_type))


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
  try:
    body = orjson.dumps(content)
  except orjson.JSONEncodeError:  # orjson refuses lone surrogates.
    text = json.dumps(content, ensure_ascii=False, separators=(',', ':'))
    body = text.encode('utf-8', 'replace')
  headers = {**_HEADERS, **_ERROR_HEADERS.get(code, {})}
  return responses.Response(body, code, headers, media_type='application/json')


def _error(code: int, message: str) -> responses.Response:
  """Returns an error in TensorFlow Serving's form."""
  return _json(code, {'error': message})
