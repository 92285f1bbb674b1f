"""The service over HTTP: routes, token, errors and metrics, with Starlette.

Every route is fixed but for a version's number: no path of a request becomes
the path of a file.
"""

from collections.abc import Awaitable, Callable
import json
import pathlib
import time
from typing import Any, Optional

from absl import logging
import orjson
from starlette import applications
from starlette import exceptions
from starlette import requests
from starlette import responses
from starlette import routing

from realm_tf.serving import access
from realm_tf.serving import batching
from realm_tf.serving import handlers
from realm_tf.serving import metrics as metrics_lib
from realm_tf.serving import request_body
from realm_tf.serving import service as service_lib
from realm_tf.serving import tf_serving_api

_STATIC = pathlib.Path(__file__).parent / 'static'
_STATIC_FILES = {
  '/': ('index.html', 'text/html'),
  '/page.css': ('page.css', 'text/css'),
  '/page.js': ('page.js', 'text/javascript'),
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
# Errors after which part of the body may still come: the connection ends.
_CLOSING = (408, 413, 503)
_RETRIED = (429, 503)
_MODEL_PATH = f'/v1/models/{tf_serving_api.MODEL_NAME}'


Handler = Callable[[requests.Request], Awaitable[Any]]


def make_app(
  service: service_lib.Service, settings: handlers.Settings
) -> applications.Starlette:
  """Returns the ASGI application of a service."""
  api = handlers.Api(service, settings)

  def route(path: str, handler: Handler, method: str = 'GET'):
    endpoint = _guarded(handler, path, service, settings.token)
    return routing.Route(path, endpoint, methods=[method])

  versions = (_MODEL_PATH, _MODEL_PATH + '/versions/{version:int}')
  return applications.Starlette(
    routes=[
      *(route(path, api.status) for path in versions),
      *(route(f'{path}/metadata', api.metadata) for path in versions),
      *(route(f'{path}:predict', api.predict, 'POST') for path in versions),
      route('/api/about', api.about),
      route('/api/ask', api.ask, 'POST'),
      route('/api/complete', api.complete, 'POST'),
      route('/api/edit', api.edit, 'POST'),
      route('/api/documents', api.documents, 'POST'),
      _plain('/healthz', lambda: _text('ok\n')),
      _plain(
        '/readyz',
        lambda: (
          _text('ready\n') if service.is_ready else _text('not ready\n', 503)
        ),
      ),
      _plain(
        '/metrics',
        lambda: _text(
          service.metrics.text(), media_type=metrics_lib.MEDIA_TYPE
        ),
        settings.token,
      ),
      *(_file(path, *file) for path, file in _STATIC_FILES.items()),
    ],
    exception_handlers={exceptions.HTTPException: _unknown(service)},
  )


def _guarded(
  handler: Handler,
  name: str,
  service: service_lib.Service,
  token: Optional[str],
) -> Callable[[requests.Request], Awaitable[responses.Response]]:
  """Returns `handler` with its token, its errors and its metrics."""

  async def respond(request):
    try:
      if request.scope['state'].get(handlers.IS_FULL):
        return _error(503, 'Too many connections. Try again later.')
      access.check_token(request.headers.get('authorization'), token)
      return _json(200, await handler(request))
    except request_body.RequestError as error:
      return _error(error.status, error.message)
    except requests.ClientDisconnect:
      return _error(499, 'The client has gone.')
    except batching.FullError:
      return _error(429, 'Too many questions wait. Try again later.')
    except batching.ClosedError:
      return _error(503, 'The server ends.')
    except Exception:  # Clients see no details.
      logging.exception('%s failed.', name)
      return _error(500, 'The server failed. Its log says why.')

  async def endpoint(request):
    begun = time.monotonic()
    response = await respond(request)
    seconds = time.monotonic() - begun
    service.metrics.count_request(name, response.status_code, seconds)
    return response

  return endpoint


def _plain(
  path: str,
  respond: Callable[[], responses.Response],
  token: Optional[str] = None,
) -> routing.Route:
  """Returns a route that reads nothing of a request and is not counted."""

  async def endpoint(request):
    try:
      access.check_token(request.headers.get('authorization'), token)
    except request_body.RequestError as error:
      return _error(error.status, error.message)
    return respond()

  return routing.Route(path, endpoint)


def _file(path: str, name: str, media_type: str) -> routing.Route:
  content = (_STATIC / name).read_bytes()
  return _plain(path, lambda: _text(content, media_type=media_type))


def _text(
  content: Any, code: int = 200, media_type: str = 'text/plain'
) -> responses.Response:
  return responses.Response(content, code, _HEADERS, media_type)


def _unknown(service: service_lib.Service):
  """Returns the handler of unknown routes and methods."""

  async def respond(request, error):
    service.metrics.count_refusal('other', error.status_code)
    what = json.dumps(f'{request.method} {request.url.path}')[:80]
    response = _error(error.status_code, f'{error.detail}: {what}.')
    response.headers.update(error.headers or {})
    return response

  return respond


def _json(code: int, content: Any) -> responses.Response:
  try:
    body = orjson.dumps(content)
  except orjson.JSONEncodeError:  # Lone surrogates have no UTF-8.
    text = json.dumps(content, ensure_ascii=False, separators=(',', ':'))
    body = text.encode('utf-8', 'replace')
  headers = dict(_HEADERS)
  if code in _CLOSING:
    headers['Connection'] = 'close'
  if code == 401:
    headers['WWW-Authenticate'] = 'Bearer'
  if code in _RETRIED:
    headers['Retry-After'] = '1'
  return responses.Response(body, code, headers, media_type='application/json')


def _error(code: int, message: str) -> responses.Response:
  """Returns an error in TensorFlow Serving's form."""
  return _json(code, {'error': message})
