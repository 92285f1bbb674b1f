"""Maps a function over items in several processes, in order.

Each thread of this process owns a worker process, gives it one item at a time,
and kills it if the item takes too long. A worker may hang in C code, which no
signal interrupts.
"""

import collections
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
import itertools
import multiprocessing
from multiprocessing import connection
import signal
import threading
import traceback
from typing import Any, NamedTuple, TypeVar

from realm_tf import errors
from realm_tf import process

_Item = TypeVar('_Item')
_Result = TypeVar('_Result')
_WAITING_PER_WORKER = 2  # Items in flight: bounds memory.
_preloaded: set[str] = set()  # Modules for the server of processes.


class Limit(NamedTuple):
  """Limit of the work on one item.

  Attributes:
    seconds: Longest time.
    instead: Returns the result of an item, given (item, reason), that takes
      longer or that ends its process.
    applies: Returns whether an item needs work; others are their own result.
    ahead: Items in flight per worker.
  """

  seconds: float
  instead: Callable[[Any, str], Any]
  applies: Callable[[Any], bool]
  ahead: int


def ordered_map(
  make_work: Callable[..., Callable[[_Item], _Result]],
  arguments: tuple[Any, ...],
  items: Iterable[_Item],
  num_workers: int,
  limit: Limit | None = None,
) -> Iterator[_Result]:
  """Yields work(item) in order; reads only a few items ahead.

  Args:
    make_work: Makes `work` from `arguments`, once per process. Must be
      importable by name.
    num_workers: Number of processes. Without a limit, 1, or a single item, uses
      this process.
    limit: Limit of each item's work, or None.
  """
  # The server is started once, perhaps for an inner map, and loads all modules.
  _preloaded.add(make_work.__module__)
  items = iter(items)
  if not limit:
    first = list(itertools.islice(items, _WAITING_PER_WORKER))
    items = itertools.chain(first, items)
    if num_workers == 1 or len(first) < _WAITING_PER_WORKER:
      yield from map(make_work(*arguments), items)
      return
  yield from _in_processes((make_work, arguments), items, num_workers, limit)


def _in_processes(
  target: tuple[Any, ...],
  items: Iterator[_Item],
  num_workers: int,
  limit: Limit | None,
) -> Iterator[Any]:
  # Workers are forks of a server that has loaded the modules, and share its
  # memory. A running TensorFlow must not be forked; the server never runs it.
  process.start_server(sorted(_preloaded))
  context = multiprocessing.get_context('forkserver')
  workers = [_Worker(context, target, limit) for _ in range(num_workers)]
  own, left = threading.local(), iter(workers)

  def run(item: _Item) -> Any:
    return own.worker.run(item)

  def started(threads: futures.Executor) -> Iterator[futures.Future]:
    try:
      for item in items:
        if limit is None or limit.applies(item):
          yield threads.submit(run, item)
        else:
          yield _finished(item)
    except Exception as error:  # pylint: disable=broad-except
      yield _finished(error)  # The results before it come first.

  ahead = (limit.ahead if limit else _WAITING_PER_WORKER) * num_workers
  waiting: collections.deque[futures.Future] = collections.deque()
  threads = futures.ThreadPoolExecutor(
    num_workers, initializer=lambda: setattr(own, 'worker', next(left))
  )
  try:
    for future in started(threads):
      waiting.append(future)
      while waiting and (len(waiting) > ahead or waiting[0].done()):
        yield waiting.popleft().result()
    while waiting:
      yield waiting.popleft().result()
  finally:
    threads.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
      worker.stop()
    threads.shutdown()


def _finished(value: Any) -> futures.Future:
  future: futures.Future = futures.Future()
  if isinstance(value, Exception):
    future.set_exception(value)
  else:
    future.set_result(value)
  return future


class _Worker:
  """A process, started for its first item and again after it was killed."""

  def __init__(
    self, context: Any, target: tuple[Any, ...], limit: Limit | None
  ):
    self._context, self._target, self._limit = context, target, limit
    self._process: Any = None
    self._pipe: Any = None
    self._starting = threading.Lock()  # A process can be killed once it runs.
    self._is_stopped = False

  def run(self, item: Any) -> Any:
    """Returns the result of an item, or the one that the limit has instead."""
    try:
      if not self._process:
        with self._starting:
          if self._is_stopped:
            raise EOFError
          self._pipe, other = self._context.Pipe()
          started = self._context.Process(
            target=_serve, args=(other, *self._target), daemon=True
          )
          started.start()
          self._process = started
        other.close()
        self._pipe.recv()  # Its modules are loaded.
      self._pipe.send(item)
      if not self._pipe.poll(self._limit and self._limit.seconds):
        raise TimeoutError
      result, error, trace = self._pipe.recv()
    except (EOFError, OSError) as failure:
      if self._process:
        self._process.kill()
      self._process = None
      if not self._limit:
        raise errors.UserError(
          'Worker processes must have enough memory. Found that the system '
          'killed one. Use fewer --num_workers.'
        ) from failure
      is_late = isinstance(failure, TimeoutError)
      late = f'took over {self._limit.seconds:g} s'
      return self._limit.instead(item, late if is_late else 'ended its process')
    if error:
      raise error from RuntimeError(trace)
    return result

  def stop(self) -> None:
    """Kills the process; a thread that waits for it gets an EOFError."""
    with self._starting:
      self._is_stopped = True
      started = self._process
    if started:
      started.kill()


def _serve(
  pipe: connection.Connection,
  make_work: Callable[..., Any],
  arguments: tuple[Any, ...],
) -> None:
  """Works on the items from `pipe` until its other end closes."""
  signal.signal(signal.SIGINT, signal.SIG_IGN)  # It ends with the other end.
  work = None
  pipe.send(None)
  while True:
    try:
      item = pipe.recv()
    except EOFError:
      return
    try:
      work = work or make_work(*arguments)
      answer = work(item), None, ''
    except Exception as error:  # pylint: disable=broad-except
      answer = None, error, traceback.format_exc()
    pipe.send(answer)
