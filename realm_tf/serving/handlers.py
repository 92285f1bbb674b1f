"""The server's routes, without HTTP's library: a body -> content for JSON.

`bodies` has the fields of each body, and docs/http.md all replies.
"""

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
import concurrent.futures
import functools
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.config import names
from realm_tf.qa import answer as answer_lib
from realm_tf.serving import bodies
from realm_tf.serving import changes
from realm_tf.serving import explorer as explorer_lib
from realm_tf.serving import service as service_lib


class Settings(NamedTuple):
  """Limits of a request, its bearer token, and texts for the page.

  Without a token none is needed.
  """

  timeout_secs: float = 30.0  # From the end of the body to the answer.
  body_timeout_secs: float = 10.0
  body_bytes: int = 512 << 10
  token: str | None = None
  best_effort: bool = False  # The reader has learned from no question.
  # The page's buttons: 'questions' and 'masked'.
  examples: Mapping[str, Sequence[str]] | None = None


class Api:
  """The handlers of all routes; each returns the content of its JSON reply."""

  def __init__(self, service: service_lib.Service, settings: Settings):
    self._service, self._settings = service, settings

  async def predict(self, body: bodies.Predict) -> dict[str, Any]:
    number = len(body.instances)
    if number > bodies.MAX_QUESTIONS:
      raise errors.RequestError(
        f'A request must have at most {bodies.MAX_QUESTIONS} questions. Found '
        f'{number}.',
        status=413,
      )
    answers = await _results_of(self._service.ask(body.instances))
    top_k = self._service.top_k
    return {'predictions': [_prediction(answer, top_k) for answer in answers]}

  async def about(self) -> dict[str, Any]:
    service, model = self._service, self._service.model
    writer = service.writer
    can_answer = model.answerer.reader is not None
    return {
      'num_blocks': service.num_blocks,
      'num_documents': len(writer.edits.documents) if writer else 0,
      'num_read': service.top_k,
      'params_step': service.versions.params_step,
      'index_step': service.versions.index_step,
      'can_answer': can_answer,
      'best_effort': can_answer and self._settings.best_effort,
      'can_complete': service.completer is not None,
      'can_edit': model.can_edit,
      'can_search': model.explorer.can_search,
      'refused': names.REFUSED,
      'examples': self._settings.examples or {'questions': [], 'masked': []},
    }

  async def ask(self, body: bodies.Question) -> dict[str, Any]:
    (answer,) = await _results_of(self._service.ask([body.question]))
    writer = self._service.writer
    changed = writer.edits.table.changed if writer is not None else ()
    return _reply(answer, self._service.top_k, changed)

  async def compare(self, body: bodies.Question) -> dict[str, Any]:
    explorer = await self._explorer_with_words()
    return await self.alone(explorer.compare, body.question)

  async def search(self, body: bodies.Words) -> dict[str, Any]:
    explorer = await self._explorer_with_words()
    return await self.alone(explorer.find, body.text)

  async def article(self, body: bodies.Block) -> dict[str, Any]:
    return await self.alone(self._service.model.explorer.article, body.block_id)

  async def complete(self, body: bodies.Sentence) -> dict[str, Any]:
    completer = self._service.completer
    if completer is None:
      raise errors.RequestError(
        'Start the server with --pretrained_dir.', status=404
      )
    return await self.alone(completer.complete, body.sentence)

  async def edit(self, body: bodies.Edit) -> dict[str, Any]:
    writer = self._service.writer
    if writer is None or not self._service.model.can_edit:
      raise errors.RequestError(
        'Start the server with --allow_edits.', status=403
      )
    await _results_of([writer.submit(changes.Edit(body.block_id, body.text))])
    return {'block_id': body.block_id, 'changed': body.text is not None}

  async def documents(self, body: bodies.Documents) -> dict[str, Any]:
    writer = self._service.writer
    if writer is None or not writer.has_documents:
      raise errors.RequestError(
        'Start the server with --documents_log.', status=403
      )
    await _results_of([writer.submit(body.change())])
    return {
      'num_documents': len(writer.edits.documents),
      'num_blocks': self._service.num_blocks,
    }

  async def _explorer_with_words(self) -> explorer_lib.Explorer:
    explorer = self._service.model.explorer
    # The first call may build BM25, while questions are answered.
    await asyncio.to_thread(explorer.words)
    return explorer

  async def alone(self, work: Callable[[Any], Any], argument: Any) -> Any:
    """Returns the result of `work`, which runs between two batches."""
    futures = self._service.alone(functools.partial(work, argument))
    return (await _results_of(futures))[0]


async def _results_of(
  futures: Sequence[concurrent.futures.Future],
) -> list[Any]:
  """Returns all results, or raises the first error; cancels waiting futures."""
  try:
    return [await asyncio.wrap_future(future) for future in futures]
  finally:
    for future in futures:
      future.cancel()


def _prediction(answer: answer_lib.Answer, top_k: int) -> dict[str, Any]:
  """Returns an answer by the names of a SavedModel's outputs."""
  blocks = answer.evidence[:top_k]
  of_blocks = {
    'block_ids': 'block_id',
    'titles': 'title',
    'texts': 'text',
    'starts': 'start',
    'ends': 'end',
    'evidence_answers': 'answer',
    'evidence_scores': 'score',
    'retrieval_probabilities': 'retrieval_probability',
  }
  return {
    'answers': answer.prediction,
    'scores': interfaces.NO_SCORE if answer.score is None else answer.score,
    'probabilities': answer.probability,
    'null_probabilities': answer.null_probability,
    'is_refused': answer.is_refused,
    **{
      name: [getattr(block, field) for block in blocks]
      for name, field in of_blocks.items()
    },
  }


def _reply(
  answer: answer_lib.Answer, top_k: int, changed: Container[int]
) -> dict[str, Any]:
  """Returns an answer with the first `top_k` blocks of its evidence.

  Args:
    changed: Ids of blocks with a changed text.
  """
  # p(z|x) with the null block: blocks that were not read, and the null block,
  # have `null_probability` together.
  found = 1.0 - answer.null_probability
  return {
    'question': answer.question,
    'answer': answer.prediction,
    'probability': answer.probability,
    'is_refused': answer.is_refused,
    'null_probability': answer.null_probability,
    'evidence': [
      {
        **explorer_lib.block_of(item),
        'p_z': item.retrieval_probability * found,
        'p_y': item.reading_probability,
        'changed': item.block_id in changed,
      }
      for item in answer.evidence[:top_k]
    ],
  }
