"""The server without HTTP: it returns a future answer for each question.

One thread answers all questions. Changes of the corpus (`live.writer`) and
newer versions (`check`) come into use between two batches.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import functools
import gc
import threading
import time
from typing import Any

from absl import logging
import prometheus_client

from realm_tf.qa import answer as answer_lib
from realm_tf.qa import masked_sentences
from realm_tf.retrieval import hot_swap
from realm_tf.serving import bodies
from realm_tf.serving import changes
from realm_tf.serving import served_model
from realm_tf.serving import threads
from realm_tf.serving import writer as writer_lib

_LATENCY_SECS = (
  *(0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5),
  *(1.0, 2.0, 5.0, 10.0, 30.0),
)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_BUSY_SECS = 0.1  # The server counts as busy for this time after an answer.
Live = hot_swap.HotSwap[served_model.Versions, served_model.ServedModel]


class Metrics:
  """Counters of the server for Prometheus, and its process's resources."""

  def __init__(self) -> None:
    # The global registry could hold the metrics of one server only.
    self._registry = prometheus_client.CollectorRegistry()
    self.requests = prometheus_client.Counter(
      *('realm_requests', 'Requests by route and status code.'),
      ['route', 'code'],
      registry=self._registry,
    )
    self.request_seconds = prometheus_client.Histogram(
      *('realm_request_seconds', 'Time to answer a request.'),
      buckets=_LATENCY_SECS,
      registry=self._registry,
    )
    self.batch_sizes = prometheus_client.Histogram(
      *('realm_batch_size', 'Questions answered together.'),
      buckets=_BATCH_SIZES,
      registry=self._registry,
    )
    self.swaps = prometheus_client.Counter(
      *('realm_swaps', 'Newer versions, loaded or refused.'),
      ['result'],
      registry=self._registry,
    )
    prometheus_client.ProcessCollector(registry=self._registry)

  def add_gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
    """Adds a number that every GET /metrics reads again."""
    prometheus_client.Gauge(
      f'realm_{name}', about, registry=self._registry
    ).set_function(read)

  def text(self) -> bytes:
    return prometheus_client.generate_latest(self._registry)


class Service:
  """Answers questions with a model that newer versions may replace.

  Args:
    live: The loaded model.
    log: Log of live documents, which are added again at once. `close` closes
      it. None: no documents can be added.
    top_k: Evidence per answer; None: all blocks that are read.
    batch_size: Most questions in a batch; None: the config's `eval_batch_size`.
    queue_size: Most waiting questions.

  Attributes:
    writer: Changes the corpus; None if the model has no edits.
  """

  def __init__(
    self,
    live: Live,
    *,
    log: changes.DocumentLog | None = None,
    completer: masked_sentences.Completer | None = None,
    top_k: int | None = None,
    batch_size: int | None = None,
    queue_size: int = 256,
  ):
    self._live, self._top_k = live, top_k
    self.metrics = Metrics()
    self.completer = completer
    self._answering = threading.Lock()
    self._busy_until = 0.0  # A time of time.monotonic.
    edits = live.current.edits
    self.writer: writer_lib.Writer | None = None
    if edits is not None:
      self.writer = writer_lib.Writer(
        *(edits, log, self._answering),
        lambda: time.monotonic() < self._busy_until,
      )
    self._batcher: threads.Batcher[str, answer_lib.Answer] = threads.Batcher(
      self._answer,
      batch_size or live.current.answerer.finetuning.eval_batch_size,
      queue_size=max(queue_size, bodies.MAX_QUESTIONS),
    )
    gauge, about = self.metrics.add_gauge, 'Training step in use.'
    gauge('queue_length', 'Waiting questions.', lambda: len(self._batcher))
    gauge('params_step', about, lambda: self.versions.params_step)
    gauge('index_step', about, lambda: self.versions.index_step)

  @property
  def is_ready(self) -> bool:
    return self._batcher.is_alive

  @property
  def versions(self) -> served_model.Versions:
    """The versions in use."""
    return self._live.version or served_model.Versions(-1, -1)

  @property
  def top_k(self) -> int:
    """Number of blocks of evidence per answer."""
    num_read = self.model.answerer.num_read
    return min(self._top_k or num_read, num_read)

  @property
  def model(self) -> served_model.ServedModel:
    """The model in use."""
    return self._live.current

  @property
  def num_blocks(self) -> int:
    """Number of blocks that a search can find."""
    changed = self.writer and self.writer.edits
    return (changed or self.model.answerer.table).num_blocks

  def ask(self, questions: Sequence[str]) -> list[concurrent.futures.Future]:
    """Returns a future `answer.Answer` for each question.

    Raises RequestError: 429 if the queue is full, 503 after `close`.
    """
    return self._batcher.submit(questions)

  def alone(self, work: Callable[[], Any]) -> list[concurrent.futures.Future]:
    """Returns the future result of work between two batches; errors as `ask`.

    The corpus does not change during the work.
    """
    return self._batcher.submit([functools.partial(self._locked, work)])

  def check(self) -> bool:
    """Swaps to a newer version; returns False if there is none."""
    refused = self._live.refused
    newer = self._live.find_newer()
    if newer is None:
      if self._live.refused != refused:
        self.metrics.swaps.labels('refused').inc()
      return False
    swap = functools.partial(self._live.swap, newer)
    edits = newer[1].edits
    if self.writer is not None and edits is not None:
      self.writer.take_over(edits, swap)
    else:
      swap()
    self._live.free()
    gc.collect()  # A model has cycles of references.
    logging.info('Swapped to %s.', self._live.version)
    self.metrics.swaps.labels('loaded').inc()
    return True

  def close(self) -> None:
    """Refuses new questions and returns after all waiting ones are answered."""
    if self.writer is not None:
      self.writer.close()
    self._batcher.close()

  def _locked(self, work: Callable[[], Any]) -> Any:
    with self._answering:
      return work()

  def _answer(
    self, questions: Sequence[str]
  ) -> Sequence[answer_lib.Answer | Exception]:
    self.metrics.batch_sizes.observe(len(questions))
    with self._answering:
      try:
        return self._live.current.answerer.answer(questions)
      except Exception as error:
        if len(questions) == 1:
          return [error]
      finally:
        self._busy_until = time.monotonic() + _BUSY_SECS
    # A question that fails must not fail its whole batch.
    return [self._answer([question])[0] for question in questions]
