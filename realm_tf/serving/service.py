"""The server without HTTP: questions and edits in, futures out.

questions -> batcher -> the one worker -> live model -> futures
edits, documents -> `corpus_writer` -> between two batches -> futures
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import functools
import math
import threading
import time
from typing import Any, Optional

from realm_tf.retrieval import hot_swap
from realm_tf.serving import batching
from realm_tf.serving import corpus_writer
from realm_tf.serving import document_log
from realm_tf.serving import masked_sentence
from realm_tf.serving import metrics as metrics_lib
from realm_tf.serving import request_body
from realm_tf.serving import served_model


class Service:
  """Answers questions with a model that may be replaced meanwhile.

  Args:
    live: The model, loaded; its versions are `served_model.Versions`.
    metrics: Counters; the service adds its gauges.
    log: Of live documents, replayed here and closed at the end; None for none.
    top_k: Evidence per answer; None for all blocks that are read.
    batch_size: Questions answered together; None for the config's
      `eval_batch_size`, 1 for one after the other.
    queue_size: Questions that may wait.
  """

  def __init__(
    self,
    live: hot_swap.HotSwap[served_model.ServedModel],
    completer: Optional[masked_sentence.Completer] = None,
    metrics: Optional[metrics_lib.Metrics] = None,
    log: Optional[document_log.DocumentLog] = None,
    limits: Optional[request_body.Limits] = None,
    top_k: Optional[int] = None,
    batch_size: Optional[int] = None,
    queue_size: int = 256,
  ):
    self._live = live
    self._completer = completer
    self._top_k = top_k
    self.limits = limits or request_body.Limits()
    self.metrics = metrics or metrics_lib.Metrics()
    self._log = log
    if log is not None:
      live.current.edits.replay(log.changes)
      log.changes.clear()  # What is in force stays in memory, no more.
      if log.is_long:
        log.shorten(live.current.edits.in_force)
    self._answering = threading.Lock()
    self._add_gauges()
    answerer = live.current.answerer
    self._batcher = batching.Batcher(
      self._handle,
      batch_size or answerer.finetuning.eval_batch_size,
      max(queue_size, self.limits.questions),
      observe=self.metrics.count_batch,
    )
    self._answered = -math.inf  # When; by the clock that never goes back.
    self._writer = corpus_writer.CorpusWriter(
      live,
      self._log,
      self._answering,
      lambda: time.monotonic() - self._answered,
    )

  @property
  def is_ready(self) -> bool:
    return self._batcher.is_alive

  @property
  def version(self) -> int:
    """Training step of the parameters in use."""
    return self._live.version.params_step

  @property
  def top_k(self) -> int:
    """Evidence of each answer."""
    num_read = self._live.current.answerer.num_read
    return min(self._top_k or num_read, num_read)

  @property
  def can_complete(self) -> bool:
    return self._completer is not None

  @property
  def can_edit(self) -> bool:
    current = self._live.current
    return current.can_edit and current.edits is not None

  @property
  def has_documents(self) -> bool:
    """Whether documents may be added and removed."""
    return self._log is not None

  @property
  def num_documents(self) -> int:
    """Live documents: those that were added."""
    return len(self._live.current.edits.documents) if self._log else 0

  def knows(self, article_id: str) -> bool:
    """Whether an article or a live document has this id."""
    return self._live.current.edits.knows(article_id)

  def holds(self, document: document_log.Document) -> bool:
    """Whether it is a live document, as it is."""
    documents = self._live.current.edits.documents
    return documents.get(document.article_id) == document

  @property
  def num_blocks(self) -> int:
    """Blocks that can be found."""
    edits = self._live.current.edits
    return self.table.num_blocks if edits is None else edits.num_blocks

  @property
  def table(self) -> Any:  # A BlockTable, or an EditedTable.
    """The corpus, edits included."""
    return self._live.current.answerer.table

  @property
  def index_step(self) -> int:
    return self._live.version.index_step

  def ask(self, questions: Sequence[str]) -> list[concurrent.futures.Future]:
    """Returns a future `answering.Answer` for each question.

    Raises:
      batching.FullError: Try again later.
      batching.ClosedError: The server ends.
    """
    return self._batcher.submit(questions)

  def complete(self, sentence: str) -> concurrent.futures.Future:
    """Returns the future completion of a masked sentence; see `ask`."""
    work = functools.partial(self._completer.complete, sentence)
    return self._batcher.submit([work])[0]

  def edit(
    self, block_id: int, text: Optional[str]
  ) -> concurrent.futures.Future:
    """Changes the text of a block, or with None restores it; see `ask`.

    Its future is the RequestError of a block that cannot be changed.
    """
    return self._writer.submit(corpus_writer.Edit(block_id, text))

  def change_documents(
    self, change: document_log.Change
  ) -> concurrent.futures.Future:
    """Adds and removes documents, on disk when the future is done; see `ask`.

    Its future is the RequestError of a removed document that is not there.
    """
    return self._writer.submit(change)

  def close(self) -> None:
    """Takes no more questions, answers those that wait, and ends."""
    self._writer.close()
    self._batcher.close()
    self._live.close()
    if self._log is not None:
      self._log.close()

  def _handle(self, items: Sequence[Any]) -> list[Any]:
    """Answers the questions among `items` together, and runs the others."""
    questions = [item for item in items if isinstance(item, str)]
    with self._answering:
      answers = iter(self._answer(questions))
      results = [
        next(answers) if isinstance(item, str) else _result(item)
        for item in items
      ]
    self._answered = time.monotonic()
    return results

  def _answer(self, questions: Sequence[str]) -> list[Any]:
    if not questions:
      return []
    answerer = self._live.current.answerer
    try:
      return answerer.answer(questions)
    except Exception:
      if len(questions) == 1:
        raise
      # A question that breaks the model must not fail its whole batch.
      alone = lambda question: lambda: answerer.answer([question])[0]
      return [_result(alone(question)) for question in questions]

  def _add_gauges(self):
    found = lambda name: lambda: getattr(self._live.version, name)
    add = self.metrics.add_gauge
    add('queue_length', 'Questions that wait.', lambda: len(self._batcher))
    add(
      'params_step', 'Training step of the model in use.', found('params_step')
    )
    add('index_step', 'Training step of the index in use.', found('index_step'))


def _result(work: Callable[[], Any]) -> Any:
  """Returns what `work` returns, or the exception that it raises."""
  try:
    return work()
  except Exception as error:
    return error
