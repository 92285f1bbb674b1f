"""Who a worker is, and whether its process still runs on this machine."""

import functools
import os
import pathlib
import platform
from typing import NamedTuple, Optional
import uuid

_PROC = pathlib.Path('/proc')


class Worker(NamedTuple):
  """A process that shares work with others.

  Attributes:
    name: Of this process only.
    machine: Of its processes' numbers; '' where that cannot be told.
    process: Its number there, and when it began: numbers are used again.
  """

  name: str
  machine: str
  process: str


def this_worker() -> Worker:
  """Returns who this process is: the same in all of it, and in no other."""
  return _worker(os.getpid())


@functools.cache
def _worker(number):  # Of the process: a fork must not take its parent's.
  name = f'{platform.node() or "worker"}-{number}-{uuid.uuid4().hex[:8]}'
  return Worker(name, _this_machine(), _process(number) or '')


def is_running(worker: Worker) -> Optional[bool]:
  """Returns whether a worker's process runs; None if it is not of here."""
  if not worker.machine or worker.machine != _this_machine():
    return None
  number = worker.process.partition(' ')[0]
  return number.isdigit() and _process(int(number)) == worker.process


def _this_machine():
  """Returns what containers with one host name do not share."""
  try:
    boot = (_PROC / 'sys/kernel/random/boot_id').read_text().strip()
    return f'{platform.node()} {boot} {os.readlink(_PROC / "self/ns/pid")}'
  except OSError:  # Not Linux.
    return ''


def _process(number):
  """Returns '<number> <start time>' of a running process, or None."""
  try:
    fields = (_PROC / str(number) / 'stat').read_text().rpartition(')')[2]
  except OSError:
    return None
  state, *rest = fields.split()
  if state == 'Z':  # Ended, only not yet waited for.
    return None
  return f'{number} {rest[18]}'  # Field 22 of proc(5), counted from 1.
