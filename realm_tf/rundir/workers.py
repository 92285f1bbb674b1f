"""Identifies worker processes, and tells whether one still runs."""

import functools
import os
import pathlib
import platform
from typing import NamedTuple, Optional
import uuid

_PROC = pathlib.Path('/proc')


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
  if state == 'Z':  # A zombie has ended.
    return None
  return f'{number} {rest[18]}'  # Field 22 of proc(5), counted from 1.
