"""The server's routes: a request in, what becomes JSON out.

TensorFlow Serving's API answers questions (`tf_serving_api`); beside it, the
page has routes of plain objects:

  GET  /api/about                          what the server can do
  POST /api/ask       {"question"}         the answer with all of its evidence
  POST /api/complete  {"sentence"}         a masked sentence, both ways
  POST /api/edit      {"block_id", "text"} another text in memory; null restores
  POST /api/documents {"add", "remove"} documents, on disk when it returns

A request is Starlette's, but nothing here imports it. Each waits for its answer
no longer than the timeout, and no longer than its client does.
"""

import asyncio
from collections.abc import Sequence
import concurrent.futures
from typing import Any, NamedTuple, Optional

from realm_tf.serving import access
from realm_tf.serving import document_request
from realm_tf.serving import request_body
from realm_tf.serving import service as service_lib
from realm_tf.serving import tf_serving_api

RequestError = request_body.RequestError
# In a request's state: its connection is one too many.
IS_FULL = 'is_full'


class Settings(NamedTuple):
  """Limits of a request.

  Attributes:
    timeout_secs: Longest time from the body's end to the answer.
    body_timeout_secs: Longest time for the body to come.
    body_bytes: Largest body.
    token: Bearer token that a request must have, if any.
  """

  timeout_secs: float = 30.0
  body_timeout_secs: float = 10.0
  body_bytes: int = 512 << 10
  token: Optional[str] = None


class Api:
  """The handlers of all routes; each returns what becomes JSON."""

  def __init__(self, service: service_lib.Service, settings: Settings):
    self._service = service
    self._settings = settings

  async def status(self, request):
    return tf_serving_api.status(self._version(request))

  async def metadata(self, request):
    version = self._version(request)
    return tf_serving_api.metadata(version, self._service.top_k)

  async def predict(self, request):
    self._version(request)
    body = await self._body(request)
    parsed = tf_serving_api.parse_predict(body, self._service.limits)
    answers = await self._wait(request, self._service.ask(parsed.questions))
    return tf_serving_api.format_predict(
      answers, parsed.by_rows, self._service.top_k
    )

  async def about(self, request):
    del request
    service = self._service
    return {
      'num_blocks': service.num_blocks,
      'num_documents': service.num_documents,
      'num_read': service.top_k,
      'params_step': service.version,
      'index_step': service.index_step,
      'can_complete': service.can_complete,
      'can_edit': service.can_edit,
    }

  async def ask(self, request):
    fields = await self._fields(request, 'question')
    question = self._text(fields['question'], 'A question')
    (answer,) = await self._wait(request, self._service.ask([question]))
    # p(z|x) of an answer that may be in no block that was read: the null block
    # and all others have `null_probability`.
    found = 1.0 - answer.null_probability
    changed = self._service.table.changed if self._service.can_edit else {}
    return {
      'question': answer.question,
      'answer': answer.prediction,
      'probability': answer.probability,
      'null_probability': answer.null_probability,
      'evidence': [
        {
          **item._asdict(),
          'p_z': item.retrieval_probability * found,
          'changed': item.block_id in changed,
        }
        for item in answer.evidence[: self._service.top_k]
      ],
    }

  async def complete(self, request):
    if not self._service.can_complete:
      raise RequestError(404, 'Start the server with --pretrained_dir.')
    fields = await self._fields(request, 'sentence')
    sentence = self._text(fields['sentence'], 'A sentence')
    (completed,) = await self._wait(request, [self._service.complete(sentence)])
    return completed

  async def edit(self, request):
    if not self._service.can_edit:
      raise RequestError(403, 'Start the server with --allow_edits.')
    self._check_writer(request)
    fields = await self._fields(request, 'block_id', 'text')
    block_id, text = fields['block_id'], fields['text']
    if type(block_id) is not int:  # True is an int, too.
      raise RequestError(400, 'A block id must be a whole number.')
    if text is not None:
      self._text(text, 'A text')
    await self._wait(request, [self._service.edit(block_id, text)])
    return {'block_id': block_id, 'changed': text is not None}

  async def documents(self, request):
    if not self._service.has_documents:
      raise RequestError(403, 'Start the server with --documents_log.')
    self._check_writer(request)
    fields = await self._fields(request, 'add', 'remove')
    change = document_request.parse(fields)
    await self._wait(request, [self._service.change_documents(change)])
    return {
      'num_documents': self._service.num_documents,
      'num_blocks': self._service.num_blocks,
    }

  def _check_writer(self, request) -> None:
    headers = request.headers
    access.check_writer(
      headers.get('content-type'), headers.get('host'), self._settings.token
    )

  def _version(self, request) -> int:
    """Returns the version in use; 404 if another one is asked for."""
    version = self._service.version
    asked_for = request.path_params.get('version', version)
    if asked_for != version:
      raise RequestError(
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

  async def _fields(self, request, *names: str) -> dict[str, Any]:
    """Returns the fields of a JSON body, which must be just `names`."""
    fields = request_body.parse_json(await self._body(request))
    if set(fields) != set(names):
      wanted = ' and '.join(f'"{name}"' for name in names)
      raise RequestError(400, f'The body must have {wanted} alone.')
    return fields

  def _text(self, text: Any, what: str) -> str:
    return request_body.check_text(text, what, self._service.limits.characters)

  async def _wait(
    self, request, futures: Sequence[concurrent.futures.Future]
  ) -> list[Any]:
    """Returns the results, as long as there is time and the client waits."""
    results = asyncio.ensure_future(wait_for_all(futures))
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
        raise RequestError(499, 'The client has gone.')
      raise RequestError(
        504, f'No answer within {self._settings.timeout_secs:g} seconds.'
      )
    finally:
      gone.cancel()
      results.cancel()
      for future in futures:
        future.cancel()  # What still waits in the queue is not computed.


async def wait_for_all(
  futures: Sequence[concurrent.futures.Future],
) -> list[Any]:
  """Returns the results of all futures, or raises the first error."""
  return [await asyncio.wrap_future(future) for future in futures]


async def _client_gone(request: Any) -> None:
  """Returns when the client has; its body must have been read."""
  while (await request.receive())['type'] != 'http.disconnect':
    pass
