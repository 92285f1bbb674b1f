"""Maps a function over items in several processes, in order."""

import collections
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import process
import itertools
import multiprocessing
from typing import Any, TypeVar

from realm_tf import errors

_Item = TypeVar('_Item')
_Result = TypeVar('_Result')
_WAITING_PER_WORKER = 2  # Items in flight: bounds memory.

_work: Callable[[Any], Any]  # Set in worker processes.


def ordered_map(
  make_work: Callable[..., Callable[[_Item], _Result]],
  arguments: tuple[Any, ...],
  items: Iterable[_Item],
  num_workers: int,
) -> Iterator[_Result]:
  """Yields work(item) lazily and in order; reads only a few items ahead.

  Args:
    make_work: Makes `work` from `arguments`, once per process. Must be
      importable by name.
    num_workers: Number of processes; 1, or a single item, uses this process.
  """
  items = iter(items)
  first = list(itertools.islice(items, _WAITING_PER_WORKER))
  items = itertools.chain(first, items)
  if num_workers == 1 or len(first) < _WAITING_PER_WORKER:
    yield from map(make_work(*arguments), items)
    return
  try:
    yield from _in_processes(make_work, arguments, items, num_workers)
  except process.BrokenProcessPool as error:
    raise errors.UserError(
      'Worker processes must have enough memory. Found that the system killed '
      f'one. Use fewer --num_workers than {num_workers}.'
    ) from error


def _in_processes(
  make_work: Callable[..., Callable[[_Item], _Result]],
  arguments: tuple[Any, ...],
  items: Iterable[_Item],
  num_workers: int,
) -> Iterator[_Result]:
  # Workers are forks of a server that has loaded the modules, and share its
  # memory. A running TensorFlow must not be forked; the server never runs it.
  context = multiprocessing.get_context('forkserver')
  context.set_forkserver_preload([make_work.__module__])
  with futures.ProcessPoolExecutor(
    num_workers, context, _start, (make_work, arguments)
  ) as pool:
    waiting: collections.deque[futures.Future] = collections.deque()
    try:
      for item in items:
        waiting.append(pool.submit(_run, item))
        if len(waiting) > _WAITING_PER_WORKER * num_workers:
          yield waiting.popleft().result()
      while waiting:
        yield waiting.popleft().result()
    finally:
      for future in waiting:
        future.cancel()


def _start(make_work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
  global _work
  _work = make_work(*arguments)


def _run(item: Any) -> Any:
  return _work(item)
