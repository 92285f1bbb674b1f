"""Tasks that several processes share through a directory, without locks.

  <directory>/TASK.done   result of the task, written last
  <directory>/TASK.claim  worker that does the task
  <directory>/WORKER.beat counter that the worker raises while it lives

Object stores have no locks, so a claim only saves work: if two workers do one
task, each writes files under its own name, and the first `done` counts. A
worker on this machine is dead once its process has ended; another one, once its
counter has not changed for `takeover_secs` on the observer's monotonic clock.
Clocks of two machines are never compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import functools
import os
import pathlib
import platform
import threading
import time
from typing import Any, NamedTuple, Optional
import uuid

import tensorflow as tf

from realm_tf.run import json_files
from realm_tf.run import json_shapes

_PROC = pathlib.Path('/proc')
_BEATS_PER_TAKEOVER = 6  # Tolerates a few late beats.


class Worker(NamedTuple):
  """A process that shares work with others."""

  name: str  # Unique.
  machine: str  # Host, boot and process namespace; '' if unknown.
  process: str  # '<process id> <start time>', as ids are reused.


def this_worker() -> Worker:
  """Returns the identity of this process."""
  return _worker(os.getpid())


@functools.cache  # By process id: a fork gets an identity of its own.
def _worker(number: int) -> Worker:
  name = f'{platform.node() or "worker"}-{number}-{uuid.uuid4().hex[:8]}'
  return Worker(name, _this_machine(), _process(number) or '')


def is_running(worker: Worker) -> Optional[bool]:
  """Returns whether a worker runs; None if it is on another machine."""
  if not worker.machine or worker.machine != _this_machine():
    return None
  number = worker.process.partition(' ')[0]
  is_number = number.isascii() and number.isdigit()
  return is_number and _process(number) == worker.process


def _this_machine() -> str:
  """Returns an id that differs between containers with the same host name."""
  try:
    boot = (_PROC / 'sys/kernel/random/boot_id').read_text().strip()
    return f'{platform.node()} {boot} {os.readlink(_PROC / "self/ns/pid")}'
  except OSError:  # Not Linux.
    return ''


def _process(number: int | str) -> Optional[str]:
  """Returns '<number> <start time>' of a running process, or None."""
  try:
    fields = (_PROC / str(number) / 'stat').read_text().rpartition(')')[2]
  except OSError:
    return None
  state, *rest = fields.split()
  # A zombie has ended. Field 22 of proc(5), counted from 1.
  return None if state == 'Z' else f'{number} {rest[18]}'


class SharedWork:
  """One worker's view of the tasks.

  Args:
    takeover_secs: Seconds without a beat after which a worker counts as dead.
    clock: Monotonic seconds.
    is_running: As `is_running` above.
  """

  def __init__(
    self,
    directory: str,
    worker: Worker,
    takeover_secs: float,
    clock: Callable[[], float] = time.monotonic,
    is_running: Callable[[Worker], Optional[bool]] = is_running,
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
    names = self._names()
    task = next((task for task in tasks if self._takes(task, names)), None)
    try:
      yield task
    except BaseException:
      if task is not None:
        with contextlib.suppress(OSError, tf.errors.OpError):
          if self._claimant(task) == self._worker:  # Not taken over.
            tf.io.gfile.remove(self._path(f'{task}.claim'))
      raise

  def _takes(self, task: str, names: set[str]) -> bool:
    """Claims a task unless another worker has it; returns whether it did."""
    if f'{task}.done' in names:
      return False
    if f'{task}.claim' in names and self._is_being_done(task):
      return False
    json_files.write(self._path(f'{task}.claim'), self._worker._asdict())
    return self._claimant(task) == self._worker  # The last claim wins.

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
    advice = f'Remove {self._directory} and run the command again.'
    paths = [self._path(f'{task}.done') for task in tasks]
    return [
      json_shapes.check(json_files.read(path), fields, path, advice)
      for path in paths
    ]

  def beat(self) -> None:
    self._num_beats += 1
    json_files.write(self._path(f'{self._worker.name}.beat'), self._num_beats)

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
    running = self._is_running(claimant)
    if running is not None:
      return running
    beat = json_files.read(self._path(f'{claimant.name}.beat'))
    now = self._clock()
    last, since = self._seen.get(claimant.name, (None, now))
    if claimant.name not in self._seen or beat != last:
      self._seen[claimant.name] = beat, now
      return True
    return now - since <= self._takeover_secs

  def _claimant(self, task: str) -> Optional[Worker]:
    fields = json_files.read(self._path(f'{task}.claim'))
    shape = json_shapes.object_of(json_shapes.fields_of(Worker))
    if not json_shapes.holds(fields, shape):
      return None
    return Worker(*(fields[name] for name in Worker._fields))

  def _names(self) -> set[str]:
    return set(tf.io.gfile.listdir(self._directory))

  def _path(self, name: str) -> str:
    return os.path.join(self._directory, name)
