"""Prepares batches in a thread while the step runs."""

from collections.abc import Iterator
import queue
import threading
from typing import TypeVar

Item = TypeVar('Item')
_END = object()


def prefetch(items: Iterator[Item], depth: int = 2) -> Iterator[Item]:
  """Yields `items` in order, up to `depth` of them prepared ahead.

  What the iterator raises is raised here, at its place in the order. The thread
  ends with the process, or when the returned generator is closed.
  """
  ready: queue.Queue = queue.Queue(depth)
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
  """Waits for room; returns False if the reader is gone."""
  while not closed.is_set():
    try:
      ready.put(entry, timeout=0.1)
      return True
    except queue.Full:
      continue
  return False
