"""Identity of a worker process, and whether it still runs."""

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
    name: Unique name.
    machine: Machine, boot and process namespace; '' if unknown.
    process: '<process id> <start time>': ids are used again.
  """

  name: str
  machine: str
  process: str


def this_worker() -> Worker:
  """Returns the identity of this process."""
  return _worker(os.getpid())


@functools.cache
def _worker(
  number: int,
) -> Worker:  # A fork must not inherit its parent's identity.
  name = f'{platform.node() or "worker"}-{number}-{uuid.uuid4().hex[:8]}'
  return Worker(name, _this_machine(), _process(number) or '')


def is_running(worker: Worker) -> Optional[bool]:
  """Returns whether a worker runs; None if it is of another machine."""
  if not worker.machine or worker.machine != _this_machine():
    return None
  number = worker.process.partition(' ')[0]
  is_number = number.isascii() and number.isdigit()
  return is_number and _process(number) == worker.process


def _this_machine() -> str:
  """Returns an id that containers of one host name do not share."""
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
