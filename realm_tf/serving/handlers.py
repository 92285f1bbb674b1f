"""What the server does for each route: request in, what becomes JSON out.

  body -> rest_api, page_api -> service -> rest_format, page_api -> dict

A request is Starlette's, but nothing here imports it. Each waits for its answer
no longer than there is time, and no longer than its client does.
"""

import asyncio
from collections.abc import Sequence
import concurrent.futures
from typing import Any, NamedTuple, Optional

from realm_tf.serving import access
from realm_tf.serving import page_api
from realm_tf.serving import request_body
from realm_tf.serving import rest_api
from realm_tf.serving import rest_format
from realm_tf.serving import service as service_lib


class Settings(NamedTuple):
  """What a request may take.

  Attributes:
    timeout_secs: From its body's end to its answer.
    body_timeout_secs: For its body.
    body_bytes: Of its body.
    token: That it must bear, if any.
  """

  timeout_secs: float = 30.0
  body_timeout_secs: float = 10.0
  body_bytes: int = 512 << 10
  token: Optional[str] = None


class Api:
  """The handlers of all routes; each returns what becomes JSON.

  Args:
    service: Answers.
    settings: See `Settings`.
  """

  def __init__(self, service: service_lib.Service, settings: Settings):
    self._service = service
    self._settings = settings

  async def status(self, request):
    return rest_format.status(self._version(request))

  async def metadata(self, request):
    return rest_format.metadata(self._version(request), self._service.top_k)

  async def predict(self, request):
    self._version(request)
    body = await self._body(request)
    parsed = rest_api.parse_predict(body, self._service.limits)
    answers = await self._wait(request, self._service.ask(parsed.questions))
    return rest_format.format_predict(
      answers, parsed.by_rows, self._service.top_k
    )

  async def about(self, request):
    del request
    return page_api.about(self._service)

  async def ask(self, request):
    parsed = rest_api.parse_json(await self._body(request))
    question = page_api.question(parsed, self._service.limits)
    (answer,) = await self._wait(request, self._service.ask([question]))
    return page_api.shown(answer, self._service)

  async def complete(self, request):
    if not self._service.can_complete:
      raise rest_api.RequestError(404, 'Start the server --pretrained_dir.')
    parsed = rest_api.parse_json(await self._body(request))
    sentence = page_api.sentence(parsed, self._service.limits)
    (completed,) = await self._wait(request, [self._service.complete(sentence)])
    return completed

  async def edit(self, request):
    if not self._service.can_edit:
      raise rest_api.RequestError(403, 'Start the server with --allow_edits.')
    headers = request.headers
    access.check_writer(
      headers.get('content-type'), headers.get('host'), self._settings.token
    )
    parsed = rest_api.parse_json(await self._body(request))
    block_id, text = page_api.edit(parsed, self._service.limits)
    await self._wait(request, [self._service.edit(block_id, text)])
    return {'block_id': block_id, 'changed': text is not None}

  def _version(self, request) -> int:
    """Returns the version in use; 404 if another one is asked for."""
    version = self._service.version
    asked_for = request.path_params.get('version', version)
    if asked_for != version:
      raise rest_api.RequestError(
        404, f'The version in use is {version}. Got {asked_for}.'
      )
    return version

  async def _body(self, request) -> bytes:
    return await request_body.read(
      request.stream(),
      request.headers.get('content-length'),
      self._settings.body_bytes,
      self._settings.body_timeout_secs,
    )

  async def _wait(
    self, request, futures: Sequence[concurrent.futures.Future]
  ) -> list[Any]:
    """Returns the results, as long as there is time and somebody waits."""
    results = asyncio.ensure_future(_all(futures))
    gone = asyncio.ensure_future(_client_gone(request))
    try:
      await asyncio.wait(
        [results, gone],
        timeout=self._settings.timeout_secs,
        return_when=asyncio.FIRST_COMPLETED,
      )
      if results.done():
        return results.result()
      if gone.done():
        raise rest_api.RequestError(499, 'The client has gone.')
      raise rest_api.RequestError(
        504, f'No answer within {self._settings.timeout_secs:g} seconds.'
      )
    finally:
      gone.cancel()
      results.cancel()
      for future in futures:
        future.cancel()  # What still waits shall cost nothing.


async def _all(futures: Sequence[concurrent.futures.Future]) -> list[Any]:
  return [await asyncio.wrap_future(future) for future in futures]


async def _client_gone(request: Any) -> None:
  """Returns when the client has; its body must have been read."""
  while (await request.receive())['type'] != 'http.disconnect':
    pass
