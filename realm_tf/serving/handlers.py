"""The server's routes, without HTTP's library: a request -> content for JSON.

TensorFlow Serving's routes are in `tf_serving_api`. The page and clients use:

  GET  /api/about                          sizes, versions and options in use
  POST /api/ask       {"question"}         the answer with all of its evidence
  POST /api/compare   {"question"}         the answer after other searches
  POST /api/complete  {"sentence"}         a masked sentence, both ways
  POST /api/search    {"text"}             articles by title, blocks by words
  POST /api/article   {"block_id"}         the blocks of a block's article
  POST /api/edit      {"block_id", "text"} a new text in memory; null restores
  POST /api/documents {"add", "remove"}    documents, on disk before the reply
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
import concurrent.futures
import functools
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf.config import names
from realm_tf.live import changes
from realm_tf.live import writer as writer_lib
from realm_tf.serving import access
from realm_tf.serving import document_request
from realm_tf.serving import explorer as explorer_lib
from realm_tf.serving import replies
from realm_tf.serving import request_body
from realm_tf.serving import service as service_lib
from realm_tf.serving import tf_serving_api


class Settings(NamedTuple):
  """Limits of a request, its bearer token, and texts for the page.

  Without a token none is needed.
  """

  timeout_secs: float = 30.0  # From the end of the body to the answer.
  body_timeout_secs: float = 10.0
  body_bytes: int = 512 << 10
  token: Optional[str] = None
  best_effort: bool = False  # The reader has learned from no question.
  # The page's buttons: 'questions' and 'masked'.
  examples: Optional[Mapping[str, Sequence[str]]] = None


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
      'can_search': bool(service.explorer and service.explorer.can_search),
      'refused': names.REFUSED,
      'examples': self._settings.examples or {'questions': [], 'masked': []},
    }

  async def ask(self, call: Call) -> dict[str, Any]:
    fields = _fields(call, 'question')
    question = self._text(fields['question'], 'A question')
    (answer,) = await results_of(self._service.ask([question]))
    writer = self._service.writer
    changed = writer.edits.table.changed if writer is not None else {}
    return replies.whole(answer, self._service.top_k, changed)

  async def compare(self, call: Call) -> dict[str, Any]:
    question = self._text(_fields(call, 'question')['question'], 'A question')
    explorer = await self._explorer_with_words()
    return await self._alone(explorer.compare, question)

  async def search(self, call: Call) -> dict[str, Any]:
    text = self._text(_fields(call, 'text')['text'], 'A text')
    explorer = await self._explorer_with_words()
    return await self._alone(explorer.find, text)

  async def article(self, call: Call) -> dict[str, Any]:
    block_id = _block_id(_fields(call, 'block_id')['block_id'])
    return await self._alone(self._explorer().article, block_id)

  async def complete(self, call: Call) -> dict[str, Any]:
    completer = self._service.completer
    if completer is None:
      raise errors.RequestError(
        'Start the server with --pretrained_dir.', status=404
      )
    fields = _fields(call, 'sentence')
    sentence = self._text(fields['sentence'], 'A sentence')
    return await self._alone(completer.complete, sentence)

  async def edit(self, call: Call) -> dict[str, Any]:
    writer = self._service.writer
    if writer is None or not self._service.can_edit:
      raise errors.RequestError(
        'Start the server with --allow_edits.', status=403
      )
    access.check_writer(call.headers, self._settings.token)
    fields = _fields(call, 'block_id', 'text')
    block_id, text = _block_id(fields['block_id']), fields['text']
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

  def _explorer(self) -> explorer_lib.Explorer:
    explorer = self._service.explorer
    if explorer is None:
      raise errors.RequestError('This server shows no articles.', status=404)
    return explorer

  async def _explorer_with_words(self) -> explorer_lib.Explorer:
    explorer = self._explorer()
    # The first call may build BM25, while questions are answered.
    await asyncio.to_thread(explorer.words)
    return explorer

  async def _alone(self, work: Callable[[Any], Any], argument: Any) -> Any:
    """Returns the result of `work`, which runs between two batches."""
    futures = self._service.alone(functools.partial(work, argument))
    return (await results_of(futures))[0]

  def _text(self, text: Any, what: str) -> str:
    return request_body.check_text(text, what, self._service.limits.characters)


async def results_of(futures: Sequence[concurrent.futures.Future]) -> list[Any]:
  """Returns all results, or raises the first error; cancels waiting futures."""
  try:
    return [await asyncio.wrap_future(future) for future in futures]
  finally:
    for future in futures:
      future.cancel()


def _block_id(value: Any) -> int:
  if type(value) is not int:  # isinstance would accept True.
    raise errors.RequestError('A block id must be a whole number.')
  return value


def _num_documents(writer: Optional[writer_lib.Writer]) -> int:
  return 0 if writer is None else len(writer.edits.documents)


def _fields(call: Call, *names: str) -> dict[str, Any]:
  """Returns the fields of a JSON body; RequestError unless they are `names`."""
  fields = request_body.parse_json(call.body)
  if set(fields) != set(names):
    listed = ' and '.join(f'"{name}"' for name in names)
    raise errors.RequestError(f'The body must have {listed}, and nothing else.')
  return fields
