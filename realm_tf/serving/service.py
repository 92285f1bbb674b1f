"""All that the server does, without HTTP: questions and edits in, futures out.

  questions, work -> batcher -> the one worker -> live model -> futures

A change of a text is work in the same queue as the questions: so none is
answered while a block has half its old text and half its new one.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import functools
from typing import Any, NamedTuple, Optional

from realm_tf.serving import batching
from realm_tf.serving import corpus_edits
from realm_tf.serving import live_model
from realm_tf.serving import masked_sentence
from realm_tf.serving import metrics as metrics_lib
from realm_tf.serving import rest_api
from realm_tf.serving import served_model


class Options(NamedTuple):
  """How questions are taken.

  Attributes:
    top_k: Evidence of an answer; None for all blocks that are read.
    batch_size: Questions answered together; None for the config's
      `eval_batch_size`, 1 for one after the other.
    queue_size: Questions that may wait.
    limits: Of a request.
  """

  top_k: Optional[int] = None
  batch_size: Optional[int] = None
  queue_size: int = 256
  limits: rest_api.Limits = rest_api.Limits()


class Service:
  """Answers questions with a model that may be replaced meanwhile.

  Args:
    live: The model.
    options: See `Options`.
    completer: Of masked sentences; None if there is no model for it.
    metrics: Told what happens; the service adds its gauges.

  Attributes:
    limits: Of a request.
    metrics: See `metrics.Metrics`.
  """

  def __init__(
    self,
    live: live_model.LiveModel[served_model.ServedModel],
    options: Options,
    completer: Optional[masked_sentence.Completer] = None,
    metrics: Optional[metrics_lib.Metrics] = None,
  ):
    self._live = live
    self._options = options
    self._completer = completer
    self.limits = options.limits
    self.metrics = metrics or metrics_lib.Metrics()
    self._add_gauges()
    answerer = live.current.answerer
    self._batcher = batching.Batcher(
      self._handle,
      batching.Limits(
        options.batch_size or answerer.finetuning.eval_batch_size,
        max(options.queue_size, options.limits.questions),
      ),
      self.metrics.count_batch,
    )

  @property
  def is_ready(self) -> bool:
    return self._batcher.is_alive

  @property
  def version(self) -> int:
    """Training step of the parameters in use."""
    return self._live.found.params_step

  @property
  def top_k(self) -> int:
    """Evidence of each answer."""
    num_read = self._live.current.answerer.num_read
    return min(self._options.top_k or num_read, num_read)

  @property
  def can_complete(self) -> bool:
    return self._completer is not None

  @property
  def can_edit(self) -> bool:
    return self._live.current.edits is not None

  @property
  def table(self) -> Any:  # A BlockTable, or an EditedTable.
    """The corpus, edits included."""
    return self._live.current.answerer.table

  @property
  def index_step(self) -> int:
    return self._live.found.index_step

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
    work = functools.partial(self._edit, block_id, text)
    return self._batcher.submit([work])[0]

  def close(self) -> None:
    """Takes no more, answers all that waits, and ends."""
    self._batcher.close()
    self._live.close()

  def _handle(self, items: Sequence[Any]) -> list[Any]:
    """Answers the questions among `items` together, and does the work."""
    questions = [item for item in items if isinstance(item, str)]
    answers = iter(self._answer(questions))
    return [
      next(answers) if isinstance(item, str) else _result(item)
      for item in items
    ]

  def _answer(self, questions: Sequence[str]) -> list[Any]:
    if not questions:
      return []
    answerer = self._live.current.answerer
    try:
      return answerer.answer(questions)
    except Exception:
      if len(questions) == 1:
        raise
      # One that breaks the model must not take its neighbours with it.
      alone = lambda question: lambda: answerer.answer([question])[0]
      return [_result(alone(question)) for question in questions]

  def _edit(self, block_id: int, text: Optional[str]):
    with self._live.lock:  # A swap takes over the texts.
      edits = self._live.current.edits
      changed = edits.table.changed
      if not 0 <= block_id < edits.table.num_blocks:
        raise rest_api.RequestError(
          404, f'There are {edits.table.num_blocks} blocks. Got {block_id}.'
        )
      is_new = text is not None and block_id not in changed
      if is_new and len(changed) >= corpus_edits.MAX_EDITS:
        raise rest_api.RequestError(
          409, f'{corpus_edits.MAX_EDITS} blocks may be changed. Restore one.'
        )
      edits.change(block_id, text)

  def _add_gauges(self):
    found = lambda name: lambda: getattr(self._live.found, name)
    add = self.metrics.add_gauge
    add('queue_length', 'Questions that wait.', lambda: len(self._batcher))
    add('params_step', 'Of the model in use.', found('params_step'))
    add('index_step', 'Of the index in use.', found('index_step'))


def _result(work: Callable[[], Any]) -> Any:
  """Returns what `work` returns, or the exception that it raises."""
  try:
    return work()
  except Exception as error:
    return error
