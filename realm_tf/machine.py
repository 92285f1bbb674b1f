"""This process's share of its machine: cores, memory, a place for sockets."""

from collections.abc import Iterator
import contextlib
from multiprocessing import util
import os
import pathlib
import tempfile

_OWN_GROUP = pathlib.Path('/proc/self/cgroup')
_GROUPS = pathlib.Path('/sys/fs/cgroup')
# A socket's path has at most 107 letters, 40 of them below this folder.
_FOLDER_LETTERS = 60
_SHORT_FOLDERS = '/tmp', '/var/tmp', '/dev/shm'


def cores() -> int:
  """Returns the cores that this process may use, also in a container."""
  number = os.cpu_count() or 1
  if hasattr(os, 'sched_getaffinity'):  # Not on macOS.
    number = len(os.sched_getaffinity(0))
  limits = (quota // period for quota, period in _limits('cpu.max'))
  return max(1, min([number, *limits]))


def memory_bytes() -> int:
  """Returns the memory that this process may use, also in a container."""
  memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
  return min([memory, *(limit for (limit,) in _limits('memory.max'))])


def _limits(name: str) -> Iterator[list[int]]:
  """Yields the numbers in a file of Linux's control groups around us."""
  with contextlib.suppress(OSError):  # Another system.
    for line in _OWN_GROUP.read_text().splitlines():
      own = _GROUPS / line.partition('::')[2].lstrip('/')
      for group in (own, *own.parents):
        # 'max' is no limit, and the outermost group has no file.
        with contextlib.suppress(OSError, ValueError):
          yield [int(part) for part in (group / name).read_text().split()]


def shorten_sockets() -> None:
  """Keeps multiprocessing's sockets out of a TMPDIR that is too long."""
  folders = [
    folder
    for folder in (os.environ.get('TMPDIR', ''), *_SHORT_FOLDERS)
    if len(folder) < _FOLDER_LETTERS and os.access(folder, os.W_OK | os.X_OK)
  ]
  before = tempfile.tempdir
  tempfile.tempdir = next(iter(folders), before)
  util.get_temp_dir()  # It is made once for a process.
  tempfile.tempdir = before
