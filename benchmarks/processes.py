"""Measures a command and its children: seconds, CPU seconds, memory."""

from collections.abc import Sequence
import os
import pathlib
import resource
import subprocess
import sys
import time
from typing import NamedTuple, Optional

_SAMPLE_SECS = 0.2
_PEERS = pathlib.Path(__file__).parent.parent / '.peers'


class Cost(NamedTuple):
  """Cost of a command and its children.

  Attributes:
    cpu_secs: User and system time.
    peak_mb: Peak memory; shared memory counts once.
    output: Standard output.
  """

  wall_secs: float
  cpu_secs: float
  peak_mb: float
  output: str


def run(command: Sequence[str], **environment: str) -> Cost:
  """Runs a command that must succeed."""
  used = resource.getrusage(resource.RUSAGE_CHILDREN)
  begun, peak = time.monotonic(), 0.0
  seen: dict[int, float] = {}  # CPU seconds of each process, so far.
  with subprocess.Popen(
    command,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
    env={**os.environ, **environment},
  ) as process:
    while process.poll() is None:
      peak = max(peak, _tree_mb(process.pid, seen))
      time.sleep(_SAMPLE_SECS)
    output = process.stdout.read()
  wall = time.monotonic() - begun
  if process.returncode:
    sys.exit(f'{" ".join(command)} ended with {process.returncode}: {output}')
  now = resource.getrusage(resource.RUSAGE_CHILDREN)
  cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
  # The system's sum lacks the workers of a fork server; the sampled sum lacks
  # the time after the last sample.
  return Cost(wall, max(cpu, sum(seen.values())), peak, output)


def peer_python() -> Optional[str]:
  """Returns the interpreter of benchmarks/peers.sh; None if it was not run."""
  python = (
    pathlib.Path(os.environ.get('REALM_PEERS', _PEERS)) / 'bin' / 'python'
  )
  return str(python) if python.exists() else None


def _tree_mb(pid: int, seen: dict[int, float]) -> float:
  """Proportional set size of a process and its descendants; times them."""
  total = 0.0
  try:
    rollup = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text()
    for line in rollup.splitlines():
      if line.startswith('Pss:'):
        total += int(line.split()[1]) / 1024
    times = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2]
    ticks = sum(map(int, times.split()[11:13]))  # User's and the system's.
    seen[pid] = ticks / os.sysconf('SC_CLK_TCK')
    children = [
      child
      for task in pathlib.Path(f'/proc/{pid}/task').iterdir()
      for child in (task / 'children').read_text().split()
    ]
  except OSError:  # The process has ended.
    return total
  return total + sum(_tree_mb(int(child), seen) for child in children)
