"""Single requests -> batches, for one worker thread.

  submit(items) -> bounded queue -> worker: handle([item, ...]) -> futures

A model answers sixteen questions in less than sixteen times the time of one, so
everything that came in while a batch was computed is the next batch. An idle
worker begins at once. One that was just busy waits some milliseconds for as
many items as it handled: clients that got their answers may ask again, and half
a batch costs almost as much as a whole.
"""

import collections
from collections.abc import Callable, Sequence
import concurrent.futures
import threading
import time
from typing import Any

from absl import logging


class FullError(Exception):
  """There is no room in the queue."""


class ClosedError(Exception):
  """The batcher takes no more."""


class Batcher:
  """Hands items to `handle` in batches, in the order that they came in.

  Args:
    handle: Maps a batch to as many results; a result that is an exception is
      raised by its item's future. Runs in one thread only.
    batch_size: Most items in a batch; 1 handles one after the other.
    queue_size: Most items that wait.
    wait_secs: Longest wait after a batch for one that is as large.
    gather_secs: Asked when an idle worker gets an item: seconds to wait for
      more.
  """

  def __init__(
    self,
    handle: Callable[[Sequence[Any]], Sequence[Any]],
    batch_size: int = 16,
    queue_size: int = 256,
    wait_secs: float = 0.010,
    observe: Callable[[int], None] = lambda size: None,
    gather_secs: Callable[[], float] = lambda: 0.0,
  ):
    self._handle = handle
    self._batch_size, self._queue_size = batch_size, queue_size
    self._wait_secs, self._gather_secs = wait_secs, gather_secs
    self._observe = observe
    self._changed = threading.Condition()
    self._queue: collections.deque = collections.deque()
    self._is_closed = False
    self._worker = threading.Thread(
      target=self._work, name='batcher', daemon=True
    )
    self._worker.start()

  def __len__(self) -> int:
    """Returns the number of items that wait."""
    return len(self._queue)

  @property
  def is_alive(self) -> bool:
    """True while the worker runs and takes items."""
    return self._worker.is_alive() and not self._is_closed

  def submit(self, items: Sequence[Any]) -> list[concurrent.futures.Future]:
    """Queues all items or none; returns a future for each.

    A future that is cancelled before its turn costs nothing.

    Raises:
      FullError: The queue has no room for them.
      ClosedError: After `close`.
    """
    futures = [concurrent.futures.Future() for _ in items]
    with self._changed:
      if self._is_closed:
        raise ClosedError()
      if len(self._queue) + len(items) > self._queue_size:
        self._drop_cancelled()
      if len(self._queue) + len(items) > self._queue_size:
        raise FullError()
      self._queue.extend(zip(items, futures))
      self._changed.notify_all()
    return futures

  def close(self) -> None:
    """Takes no more items; returns when the queue is done."""
    with self._changed:
      self._is_closed = True
      self._changed.notify_all()
    self._worker.join()

  def _drop_cancelled(self):
    kept = [pair for pair in self._queue if not pair[1].cancelled()]
    self._queue.clear()
    self._queue.extend(kept)

  def _work(self):
    last_size = 0
    while True:
      batch = self._next_batch(last_size)
      if batch is None:
        return
      last_size = len(batch)
      if batch:
        self._observe(len(batch))
        self._run(batch)
      del batch  # Answers hold texts of the corpus: free them now.

  def _next_batch(self, last_size):
    """Returns (item, future) pairs, maybe none; None at the end."""
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

  def _wait_for(self, number, secs):
    deadline = time.monotonic() + secs
    while len(self._queue) < number and not self._is_closed:
      left = deadline - time.monotonic()
      if left <= 0 or not self._changed.wait(left):
        return

  def _run(self, batch):
    try:
      results = self._handle([item for item, _ in batch])
    except Exception as error:  # The worker goes on with the next batch.
      logging.exception('A batch of %d failed.', len(batch))
      results = [error] * len(batch)
    for (_, future), result in zip(batch, results, strict=True):
      if isinstance(result, Exception):
        future.set_exception(result)
      else:
        future.set_result(result)
