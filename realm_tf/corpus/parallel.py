"""Work on many items in several processes, the results in the items' order."""

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
_WAITING_PER_WORKER = 2  # Items in flight; bounds the memory.

_work: Callable[[Any], Any]  # Of a worker process.


def ordered_map(
  make_work: Callable[..., Callable[[_Item], _Result]],
  arguments: tuple[Any, ...],
  items: Iterable[_Item],
  num_workers: int,
) -> Iterator[_Result]:
  """Yields work(item) for each of `items`, in order and lazily.

  The same for any number of workers, if `work` keeps no state.

  Args:
    make_work: Called once a process with `arguments` to make `work`, which may
      hold what cannot be sent. Importable by its name.
    arguments: Of `make_work`.
    items: Read at most a few items ahead.
    num_workers: Processes; 1, or a single item, is worked on in this one.

  Raises:
    UserError: A process was killed.
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
      'Worker processes must live to the end; one was killed, which the '
      'system does when memory runs out. Use fewer --num_workers than '
      f'{num_workers}.'
    ) from error


def _in_processes(make_work, arguments, items, num_workers):
  # A server that has the modules loaded forks the workers: they share its
  # memory, and TensorFlow, which must not be forked once it runs, never does
  # there.
  context = multiprocessing.get_context('forkserver')
  context.set_forkserver_preload([make_work.__module__])
  with futures.ProcessPoolExecutor(
    num_workers, context, _start, (make_work, arguments)
  ) as pool:
    waiting = collections.deque()
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


def _start(make_work, arguments):
  global _work
  _work = make_work(*arguments)


def _run(item):
  return _work(item)
