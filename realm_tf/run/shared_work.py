"""Tasks that several processes share through a directory, without locks.

  <directory>/TASK.done   result of the task, written last
  <directory>/TASK.claim  worker that does the task
  <directory>/WORKER.beat counter that the worker raises while it lives

Object stores have no locks, so a claim only saves work: if two workers do one
task, each writes files under its own name, and the first `done` counts. A
worker is dead once its counter has not changed for `takeover_secs` on the
observer's monotonic clock, and on this machine once its process has ended.
Clocks of two machines are never compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import functools
import os
import platform
import threading
import time
from typing import Any, Optional
import uuid

import msgspec
import tensorflow as tf

from realm_tf import json_text

_BEATS_PER_TAKEOVER = 6  # Tolerates a few late beats.


class Worker(msgspec.Struct, frozen=True):
  """A process that shares work with others."""

  name: str  # Unique.
  machine: str  # Host, boot and process namespace; '' if unknown.
  process: int


def this_worker() -> Worker:
  """Returns the identity of this process."""
  return _worker(os.getpid())


@functools.cache  # By process id: a fork gets an identity of its own.
def _worker(process: int) -> Worker:
  name = f'{platform.node() or "worker"}-{process}-{uuid.uuid4().hex[:8]}'
  return Worker(name, _this_machine(), process)


def _this_machine() -> str:
  """Returns an id that differs between containers with the same host name."""
  try:
    with open('/proc/sys/kernel/random/boot_id') as file:
      boot = file.read().strip()
    return f'{platform.node()} {boot} {os.readlink("/proc/self/ns/pid")}'
  except OSError:  # Not Linux.
    return ''


def has_ended(worker: Worker) -> bool:
  """Returns whether a worker on this machine has ended; False if unknown."""
  if not worker.machine or worker.machine != _this_machine():
    return False
  try:
    with open(f'/proc/{worker.process}/stat') as file:
      return file.read().rpartition(')')[2].split()[0] == 'Z'  # A zombie.
  except OSError:
    return True


class SharedWork:
  """One worker's view of the tasks.

  Args:
    takeover_secs: Seconds without a beat after which a worker counts as dead.
    clock: Monotonic seconds.
    has_ended: As `has_ended` above.
  """

  def __init__(
    self,
    directory: str,
    worker: Worker,
    takeover_secs: float,
    clock: Callable[[], float] = time.monotonic,
    has_ended: Callable[[Worker], bool] = has_ended,
  ):
    self._directory = directory
    self._worker = worker
    self._takeover_secs = takeover_secs
    self._clock = clock
    self._has_ended = has_ended
    self._num_beats = 0
    # Worker -> (last counter, time of its first sight).
    self._seen: dict[str, tuple[Any, float]] = {}
    tf.io.gfile.makedirs(directory)

  def claim(self, tasks: Iterable[str]) -> Optional[str]:
    """Claims the first task that is neither done nor claimed, or none.

    Tasks of dead workers count as not claimed.
    """
    names = self._names()
    for task in tasks:
      claim = f'{task}.claim'
      if f'{task}.done' in names:
        continue
      if claim in names and self._is_being_done(task):
        continue
      json_text.write(self._path(claim), msgspec.to_builtins(self._worker))
      if self._claimant(task) == self._worker:  # The last claim wins.
        return task
    return None

  def finish(self, task: str, result: dict[str, Any]) -> bool:
    """Marks `task` as done; returns False if another worker was first."""
    path = self._path(f'{task}.done')
    if tf.io.gfile.exists(path):
      return False
    json_text.write(path, result)
    return True

  def num_done(self, tasks: Iterable[str]) -> int:
    names = self._names()
    return sum(f'{task}.done' in names for task in tasks)

  def results(
    self, tasks: Iterable[str], fields: Mapping[str, json_text.Shape]
  ) -> list[dict[str, Any]]:
    """Returns results with `fields`; raises UserError if one is damaged."""
    advice = f'Remove {self._directory} and run the command again.'
    paths = [self._path(f'{task}.done') for task in tasks]
    return [
      json_text.check(json_text.read(path), fields, path, advice)
      for path in paths
    ]

  def beat(self) -> None:
    self._num_beats += 1
    json_text.write(self._path(f'{self._worker.name}.beat'), self._num_beats)

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

  def _is_being_done(self, task: str) -> bool:
    claimant = self._claimant(task)
    if claimant is None or claimant == self._worker:
      return False  # An unreadable claim, or this worker's own.
    if self._has_ended(claimant):
      return False
    beat = json_text.read(self._path(f'{claimant.name}.beat'))
    now = self._clock()
    last, since = self._seen.get(claimant.name, (None, now))
    if claimant.name not in self._seen or beat != last:
      self._seen[claimant.name] = beat, now
      return True
    return now - since <= self._takeover_secs

  def _claimant(self, task: str) -> Optional[Worker]:
    return json_text.read(self._path(f'{task}.claim'), Worker)

  def _names(self) -> set[str]:
    return set(tf.io.gfile.listdir(self._directory))

  def _path(self, name: str) -> str:
    return os.path.join(self._directory, name)
