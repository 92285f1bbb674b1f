"""Prepares batches in a thread while the step runs."""

from collections.abc import Iterator
import queue
import threading
from typing import TypeVar

Item = TypeVar('Item')
_END = object()
_DEPTH = 2  # Limit of prepared items.


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
  """Yields `items` in order; a thread prepares the next ones.

  An error of the iterator is raised here, at its place in the order. The thread
  ends with the process, or when the returned generator is closed.
  """
  ready: queue.Queue = queue.Queue(_DEPTH)
  closed = threading.Event()

  def work() -> None:
    try:
      for item in items:
        if not _put(ready, (item, None), closed):
          return
      _put(ready, (_END, None), closed)
    except BaseException as error:  # pylint: disable=broad-except
      _put(ready, (None, error), closed)

  threading.Thread(target=work, daemon=True, name='prefetch').start()
  try:
    while True:
      item, error = ready.get()
      if error is not None:
        raise error
      if item is _END:
        return
      yield item
  finally:
    closed.set()


def _put(
  ready: queue.Queue, entry: tuple[object, object], closed: threading.Event
) -> bool:
  """Waits for room; returns False once the reader has closed."""
  while not closed.is_set():
    try:
      ready.put(entry, timeout=0.1)
      return True
    except queue.Full:
      continue
  return False
