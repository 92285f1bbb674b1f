"""Threads of a server: one works on requests in batches, one looks regularly.

A batch costs less than its items one by one, so items that arrive during a
batch form the next one. An idle worker starts at once. After a batch it waits
some milliseconds for a batch of that size: clients with answers may ask again.
"""

import collections
from collections.abc import Callable, Sequence
import concurrent.futures
import threading
import traceback
from typing import Any, Generic, TypeVar

from absl import logging

from realm_tf import errors

Item = TypeVar('Item')
Result = TypeVar('Result')
Work = Callable[[], Any]
Pair = tuple[Item | Work, concurrent.futures.Future]


class Batcher(Generic[Item, Result]):
  """Hands items to `handle` in batches, in their order of arrival.

  The worker calls an item that is a function alone.

  Args:
    handle: Returns one result for each item of a batch; a future raises a
      result that is an exception. Runs in one thread only.
    wait_secs: Longest wait after a batch for a batch of the same size.
    gather_secs: Returns how long an idle worker waits for more items after it
      got the first one.
  """

  def __init__(
    self,
    handle: Callable[[Sequence[Item]], Sequence[Result | Exception]],
    batch_size: int = 16,
    *,
    queue_size: int = 256,
    wait_secs: float = 0.010,
    gather_secs: Callable[[], float] = lambda: 0.0,
  ):
    self._handle = handle
    self._batch_size, self._queue_size = batch_size, queue_size
    self._wait_secs, self._gather_secs = wait_secs, gather_secs
    self._changed = threading.Condition()
    self._queue: collections.deque[Pair] = collections.deque()
    self._is_closed = False
    self._worker = threading.Thread(
      target=self._work, name='batcher', daemon=True
    )
    self._worker.start()

  def __len__(self) -> int:
    """Returns the number of waiting items."""
    return len(self._queue)

  @property
  def is_alive(self) -> bool:
    """Whether the worker runs and takes items."""
    return self._worker.is_alive() and not self._is_closed

  def submit(
    self, items: Sequence[Item | Work], ignores_size: bool = False
  ) -> list[concurrent.futures.Future]:
    """Queues all items or none; returns a future for each.

    Items with a cancelled future are not handled. Raises RequestError: 429 if
    the queue is full, unless `ignores_size`; 503 after `close`.
    """
    with self._changed:
      most = self._queue_size - len(items)
      if len(self._queue) > most:
        kept = [pair for pair in self._queue if not pair[1].cancelled()]
        self._queue = collections.deque(kept)
      if len(self._queue) > most and not ignores_size:
        raise errors.RequestError(
          'Too many questions wait. Try again later.', status=429
        )
      if self._is_closed:
        raise errors.RequestError('The server is shutting down.', status=503)
      pairs: list[Pair] = [(one, concurrent.futures.Future()) for one in items]
      self._queue.extend(pairs)
      self._changed.notify_all()
    return [future for _, future in pairs]

  def close(self) -> None:
    """Refuses new items and returns after all queued ones are handled."""
    with self._changed:
      self._is_closed = True
      self._changed.notify_all()
    self._worker.join()

  def _work(self) -> None:
    last_size = 0
    while (batch := self._next_batch(last_size)) is not None:
      last_size = len(batch)
      self._run(batch)
      del batch  # Frees the answers, which hold texts of the corpus.

  def _next_batch(self, last_size: int) -> list[Pair] | None:
    """Returns items with their futures, maybe none; None after `close`."""
    with self._changed:
      self._wait_for(last_size, self._wait_secs)
      while not self._queue:
        if self._is_closed:
          return None
        self._changed.wait()
      self._wait_for(self._batch_size, self._gather_secs())
      size = min(len(self._queue), self._batch_size)
      taken = [self._queue.popleft() for _ in range(size)]
    return [pair for pair in taken if pair[1].set_running_or_notify_cancel()]

  def _wait_for(self, number: int, secs: float) -> None:
    self._changed.wait_for(
      lambda: len(self._queue) >= number or self._is_closed, secs
    )

  def _run(self, batch: Sequence[Pair]) -> None:
    for work, future in batch:
      if callable(work):
        try:
          future.set_result(work())
        except Exception as error:
          future.set_exception(error)
    items: list[Any] = [pair for pair in batch if not callable(pair[0])]
    if not items:
      return
    results: Sequence[Result | Exception]
    try:
      results = self._handle([item for item, _ in items])
    except Exception as error:  # The worker must survive a failed batch.
      logging.log_every_n_seconds(
        *(logging.ERROR, 'A batch failed.\n%s', 60, traceback.format_exc())
      )
      results = [error] * len(items)
    for (_, future), result in zip(items, results, strict=True):
      if isinstance(result, Exception):
        future.set_exception(result)
      else:
        future.set_result(result)


class Watcher:
  """Calls `look` every `poll_secs` seconds until `close`, even after errors."""

  def __init__(self, look: Callable[[], object], poll_secs: float):
    self._look, self._poll_secs = look, poll_secs
    self._closed = threading.Event()
    self._thread = threading.Thread(
      target=self._run, name='watcher', daemon=True
    )
    self._thread.start()

  def close(self) -> None:
    """Stops the calls and waits until the current one has ended."""
    self._closed.set()
    self._thread.join()

  def _run(self) -> None:
    while not self._closed.wait(self._poll_secs):
      try:
        self._look()
      except Exception:
        logging.log_every_n_seconds(
          *(logging.ERROR, 'A look for newer versions failed.\n%s', 60),
          traceback.format_exc(),
        )
