"""Tasks that several processes share through a directory, without any lock.

  <directory>/TASK.done   written last: what the task made
  <directory>/TASK.claim  the worker that is at it
  <directory>/WORKER.beat a counter that the worker raises while it lives

Object stores have no locks. So a claim only saves work: if two workers do take
one task, each writes files of its own names and the first `done` stands. A
worker is dead once its counter has stood still for a while by the observer's
own clock; clocks of two machines are never compared, and may be set back.
"""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import os
import threading
import time
from typing import Any, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import json_files
from realm_tf.rundir import workers

_BEATS_PER_TAKEOVER = 6  # A late beat or two must not look like a death.


class SharedWork:
  """One worker's view of the tasks.

  Args:
    directory: Shared by the workers.
    worker: This one.
    takeover_secs: How long a counter may stand still.
    clock: Monotonic seconds.
    is_running: Whether another worker's process runs on this machine; None if
      that cannot be known.
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
    # Worker -> its counter, and when it was first seen to stand there.
    self._seen: dict[str, tuple[Any, float]] = {}
    tf.io.gfile.makedirs(directory)

  @property
  def worker_name(self) -> str:
    return self._worker.name

  def take(self, tasks: Iterable[str]) -> Optional[str]:
    """Claims the first task that is neither done nor being done, if any."""
    names = self._names()
    for task in tasks:
      if f'{task}.done' in names:
        continue
      if f'{task}.claim' in names and self._is_being_done(task):
        continue
      json_files.write(self._path(f'{task}.claim'), self._worker._asdict())
      if self._claimant(task) == self._worker:  # Else another was later.
        return task
    return None

  def finish(self, task: str, result: dict[str, Any]) -> bool:
    """Says that `task` is done; returns False if another was first."""
    path = self._path(f'{task}.done')
    if tf.io.gfile.exists(path):
      return False
    json_files.write(path, result)
    return True

  def num_done(self, tasks: Iterable[str]) -> int:
    """Returns how many of the tasks are done."""
    names = self._names()
    return sum(f'{task}.done' in names for task in tasks)

  def results(self, tasks: Iterable[str]) -> list[dict[str, Any]]:
    """Returns what the tasks made, which all are done.

    Raises:
      UserError: One of them cannot be read.
    """
    paths = [self._path(f'{task}.done') for task in tasks]
    found = [json_files.read(path) for path in paths]
    if None in found:
      raise errors.UserError(
        f'{paths[found.index(None)]} must be JSON. Found something else, or no '
        f'file. Remove {self._directory} and run the command again.'
      )
    return found

  def beat(self) -> None:
    """Shows that this worker lives."""
    self._num_beats += 1
    json_files.write(self._beat_path(self._worker.name), self._num_beats)

  @contextlib.contextmanager
  def beating(self) -> Iterator[None]:
    """Beats in a thread, so that long tasks need not think of it."""
    ended = threading.Event()

    def work():
      while not ended.wait(self._takeover_secs / _BEATS_PER_TAKEOVER):
        # A full disk stops the beat, and the task itself will tell of it.
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

  def _is_being_done(self, task):
    claimant = self._claimant(task)
    if claimant is None or claimant == self._worker:
      return False  # Unreadable, or by this worker, which failed before.
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

  def _claimant(self, task):
    fields = json_files.read(self._path(f'{task}.claim'))
    try:
      return workers.Worker(**fields)
    except TypeError:
      return None

  def _names(self):
    return set(tf.io.gfile.listdir(self._directory))

  def _beat_path(self, worker_name):
    return self._path(f'{worker_name}.beat')

  def _path(self, name):
    return os.path.join(self._directory, name)
