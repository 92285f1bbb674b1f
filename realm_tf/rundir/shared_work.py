"""Tasks that several processes share through a directory, without locks.

  <directory>/TASK.done   result of the task, written last
  <directory>/TASK.claim  worker that does the task
  <directory>/WORKER.beat counter that the worker raises while it lives

Object stores have no locks, so a claim only saves work: if two workers do one
task, each writes files under its own name, and the first `done` counts. A
worker is dead once its counter has not changed for `takeover_secs` on the
observer's monotonic clock. Clocks of two machines are never compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import os
import threading
import time
from typing import Any, Optional

import tensorflow as tf

from realm_tf.rundir import json_files
from realm_tf.rundir import json_shapes
from realm_tf.rundir import workers

_CLAIM = json_shapes.object_of(json_shapes.fields_of(workers.Worker))
_BEATS_PER_TAKEOVER = 6  # Tolerates a few late beats.


class SharedWork:
  """One worker's view of the tasks.

  Args:
    takeover_secs: Seconds without a beat after which a worker counts as dead.
    clock: Monotonic seconds.
    is_running: As `workers.is_running`.
  """

  def __init__(
    self,
    directory: str,
    worker: workers.Worker,
    takeover_secs: float,
    clock: Callable[[], float] = time.monotonic,
    is_running: Callable[[workers.Worker], Optional[bool]] = workers.is_running,
  ):
    self._directory = directory
    self._worker = worker
    self._takeover_secs = takeover_secs
    self._clock = clock
    self._is_running = is_running
    self._num_beats = 0
    # Worker -> (last counter, time of its first sight).
    self._seen: dict[str, tuple[Any, float]] = {}
    tf.io.gfile.makedirs(directory)

  @contextlib.contextmanager
  def claim(self, tasks: Iterable[str]) -> Iterator[Optional[str]]:
    """Yields the first task that is neither done nor claimed, or None.

    An error in the body releases the task. Other workers also take over the
    tasks of dead workers.
    """
    task = self._take(tasks)
    try:
      yield task
    except BaseException:
      if task is not None:
        with contextlib.suppress(OSError, tf.errors.OpError):
          self._release(task)
      raise

  def _take(self, tasks: Iterable[str]) -> Optional[str]:
    names = self._names()
    for task in tasks:
      if f'{task}.done' in names:
        continue
      if f'{task}.claim' in names and self._is_being_done(task):
        continue
      json_files.write(self._path(f'{task}.claim'), self._worker._asdict())
      if self._claimant(task) == self._worker:  # The last claim wins.
        return task
    return None

  def finish(self, task: str, result: dict[str, Any]) -> bool:
    """Marks `task` as done; returns False if another worker was first."""
    path = self._path(f'{task}.done')
    if tf.io.gfile.exists(path):
      return False
    json_files.write(path, result)
    return True

  def num_done(self, tasks: Iterable[str]) -> int:
    names = self._names()
    return sum(f'{task}.done' in names for task in tasks)

  def results(
    self, tasks: Iterable[str], fields: Mapping[str, json_shapes.Shape]
  ) -> list[dict[str, Any]]:
    """Returns results with `fields`; raises UserError if one is damaged."""
    paths = [self._path(f'{task}.done') for task in tasks]
    found = [json_files.read(path) for path in paths]
    advice = f'Remove {self._directory} and run the command again.'
    for path, value in zip(paths, found, strict=True):
      json_shapes.check(value, fields, path, advice)
    return found

  def beat(self) -> None:
    self._num_beats += 1
    json_files.write(self._beat_path(self._worker.name), self._num_beats)

  @contextlib.contextmanager
  def beating(self) -> Iterator[None]:
    """Beats in a thread while the body runs."""
    ended = threading.Event()

    def work() -> None:
      while not ended.wait(self._takeover_secs / _BEATS_PER_TAKEOVER):
        # After an error, e.g. a full disk, the task itself reports it.
        with contextlib.suppress(OSError, tf.errors.OpError):
          self.beat()

    self.beat()
    thread = threading.Thread(target=work, daemon=True, name='beat')
    thread.start()
    try:
      yield
    finally:
      ended.set()
      thread.join()

  def _release(self, task: str) -> None:
    if self._claimant(task) == self._worker:  # Not taken over.
      tf.io.gfile.remove(self._path(f'{task}.claim'))

  def _is_being_done(self, task: str) -> bool:
    claimant = self._claimant(task)
    if claimant is None or claimant == self._worker:
      return False  # An unreadable claim, or this worker's own.
    running = self._is_running(claimant)
    if running is not None:
      return running
    beat = json_files.read(self._beat_path(claimant.name))
    now = self._clock()
    last, since = self._seen.get(claimant.name, (None, now))
    if claimant.name not in self._seen or beat != last:
      self._seen[claimant.name] = beat, now
      return True
    return now - since <= self._takeover_secs

  def _claimant(self, task: str) -> Optional[workers.Worker]:
    fields = json_files.read(self._path(f'{task}.claim'))
    if not _CLAIM.holds(fields):
      return None
    return workers.Worker(*(fields[name] for name in workers.Worker._fields))

  def _names(self) -> set[str]:
    return set(tf.io.gfile.listdir(self._directory))

  def _beat_path(self, worker_name: str) -> str:
    return self._path(f'{worker_name}.beat')

  def _path(self, name: str) -> str:
    return os.path.join(self._directory, name)
