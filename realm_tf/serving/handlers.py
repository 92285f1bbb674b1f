"""The server's routes, without HTTP's library: a request -> content for JSON.

TensorFlow Serving's routes are in `tf_serving_api`. The page and clients use:

  GET  /api/about                          sizes, versions and options in use
  POST /api/ask       {"question"}         the answer with all of its evidence
  POST /api/complete  {"sentence"}         a masked sentence, both ways
  POST /api/edit      {"block_id", "text"} a new text in memory; null restores
  POST /api/documents {"add", "remove"}    documents, on disk before the reply
"""

import asyncio
from collections.abc import Mapping, Sequence
import concurrent.futures
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf.live import changes
from realm_tf.live import writer as writer_lib
from realm_tf.serving import access
from realm_tf.serving import document_request
from realm_tf.serving import request_body
from realm_tf.serving import service as service_lib
from realm_tf.serving import tf_serving_api


class Settings(NamedTuple):
  """Limits of a request, and its bearer token; None: no token is needed."""

  timeout_secs: float = 30.0  # From the end of the body to the answer.
  body_timeout_secs: float = 10.0
  body_bytes: int = 512 << 10
  token: Optional[str] = None
  best_effort: bool = False  # The reader has learned from no question.


class Call(NamedTuple):
  """A request with a valid token and a complete body."""

  body: bytes
  headers: Mapping[str, str]
  version: Optional[int] = None  # The model's version in the path, if any.


class Api:
  """The handlers of all routes; each returns the content of its JSON reply."""

  def __init__(self, service: service_lib.Service, settings: Settings):
    self._service, self._settings = service, settings

  async def status(self, call: Call) -> dict[str, Any]:
    return tf_serving_api.status(self._version(call))

  async def metadata(self, call: Call) -> dict[str, Any]:
    version = self._version(call)
    return tf_serving_api.metadata(version, self._service.top_k)

  async def predict(self, call: Call) -> dict[str, Any]:
    self._version(call)
    parsed = tf_serving_api.parse_predict(call.body, self._service.limits)
    answers = await results_of(self._service.ask(parsed.questions))
    return tf_serving_api.format_predict(
      answers, parsed.by_rows, self._service.top_k
    )

  async def about(self, call: Call) -> dict[str, Any]:
    del call
    service = self._service
    return {
      'num_blocks': service.num_blocks,
      'num_documents': _num_documents(service.writer),
      'num_read': service.top_k,
      'params_step': service.versions.params_step,
      'index_step': service.versions.index_step,
      'can_answer': service.can_answer,
      'best_effort': service.can_answer and self._settings.best_effort,
      'can_complete': service.completer is not None,
      'can_edit': service.can_edit,
    }

  async def ask(self, call: Call) -> dict[str, Any]:
    fields = _fields(call, 'question')
    question = self._text(fields['question'], 'A question')
    (answer,) = await results_of(self._service.ask([question]))
    # p(z|x) with the null block: blocks that were not read, and the null block,
    # have `null_probability` together.
    found = 1.0 - answer.null_probability
    writer = self._service.writer
    changed = writer.edits.table.changed if writer is not None else {}
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

  async def complete(self, call: Call) -> dict[str, Any]:
    completer = self._service.completer
    if completer is None:
      raise errors.RequestError(
        'Start the server with --pretrained_dir.', status=404
      )
    fields = _fields(call, 'sentence')
    sentence = self._text(fields['sentence'], 'A sentence')
    (completed,) = await results_of(self._service.complete(completer, sentence))
    return completed

  async def edit(self, call: Call) -> dict[str, Any]:
    writer = self._service.writer
    if writer is None or not self._service.can_edit:
      raise errors.RequestError(
        'Start the server with --allow_edits.', status=403
      )
    access.check_writer(call.headers, self._settings.token)
    fields = _fields(call, 'block_id', 'text')
    block_id, text = fields['block_id'], fields['text']
    if type(block_id) is not int:  # isinstance would accept True.
      raise errors.RequestError('A block id must be a whole number.')
    if text is not None:
      self._text(text, 'A text')
    await results_of([writer.submit(changes.Edit(block_id, text))])
    return {'block_id': block_id, 'changed': text is not None}

  async def documents(self, call: Call) -> dict[str, Any]:
    writer = self._service.writer
    if writer is None or not writer.has_documents:
      raise errors.RequestError(
        'Start the server with --documents_log.', status=403
      )
    access.check_writer(call.headers, self._settings.token)
    change = document_request.parse(_fields(call, 'add', 'remove'))
    await results_of([writer.submit(change)])
    return {
      'num_documents': _num_documents(writer),
      'num_blocks': self._service.num_blocks,
    }

  def _version(self, call: Call) -> int:
    """Returns the version in use; RequestError for another one in the path."""
    version = self._service.versions.params_step
    if call.version not in (None, version):
      raise errors.RequestError(
        f'The version must be {version}. Found {call.version}.', status=404
      )
    return version

  def _text(self, text: Any, what: str) -> str:
    return request_body.check_text(text, what, self._service.limits.characters)


async def results_of(futures: Sequence[concurrent.futures.Future]) -> list[Any]:
  """Returns all results, or raises the first error; cancels waiting futures."""
  try:
    return [await asyncio.wrap_future(future) for future in futures]
  finally:
    for future in futures:
      future.cancel()


def _num_documents(writer: Optional[writer_lib.Writer]) -> int:
  return 0 if writer is None else len(writer.edits.documents)


def _fields(call: Call, *names: str) -> dict[str, Any]:
  """Returns the fields of a JSON body; RequestError unless they are `names`."""
  fields = request_body.parse_json(call.body)
  if set(fields) != set(names):
    listed = ' and '.join(f'"{name}"' for name in names)
    raise errors.RequestError(f'The body must have {listed}, and nothing else.')
  return fields
