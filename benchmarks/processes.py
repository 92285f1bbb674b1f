"""Runs and measures commands and workers in their own processes."""

from collections.abc import Sequence
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time
from typing import Any, NamedTuple, Optional

_SAMPLE_SECS = 0.2
_PEERS = pathlib.Path(__file__).parent.parent / '.peers'


class Cost(NamedTuple):
  """Cost of a command and its children; shared memory counts once."""

  wall_secs: float
  cpu_secs: float
  peak_mb: float
  output: str


def run(command: Sequence[str], **environment: str) -> Cost:
  """Runs a command that must succeed."""
  used = resource.getrusage(resource.RUSAGE_CHILDREN)
  begun, peak = time.monotonic(), 0.0
  seen: dict[int, float] = {}  # CPU seconds of each process so far.
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
  # The system's sum lacks workers of a fork server. The sampled sum lacks the
  # time after the last sample.
  return Cost(wall, max(cpu, sum(seen.values())), peak, output)


class Worker:
  """A process that answers each line of JSON with a line of JSON."""

  def __init__(self, command: Sequence[str], **environment: str):
    self._command = command
    self._process = subprocess.Popen(
      command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
      env={**os.environ, **environment},
    )

  def ask(self, request: Any) -> Any:
    """Returns the answer to `request`."""
    self._process.stdin.write(json.dumps(request) + '\n')
    self._process.stdin.flush()
    line = self._process.stdout.readline()
    if not line:
      sys.exit(f'The worker must run. Found its end: {" ".join(self._command)}')
    return json.loads(line)

  def close(self) -> None:
    """Ends the process."""
    self._process.stdin.close()
    self._process.wait()


def memory_mb(field: str) -> float:
  """Returns VmRSS, this process's memory, or VmHWM, its peak."""
  status = pathlib.Path('/proc/self/status').read_text()
  return int(re.search(rf'{field}:\s+(\d+)', status)[1]) / 1024


def peer_python() -> Optional[str]:
  """Returns the interpreter that benchmarks/peers.sh installed, or None."""
  python = (
    pathlib.Path(os.environ.get('REALM_PEERS', _PEERS)) / 'bin' / 'python'
  )
  return str(python) if python.exists() else None


def _tree_mb(pid: int, seen: dict[int, float]) -> float:
  """Returns the proportional set size of a process and its descendants.

  Adds the CPU seconds of each process to `seen`.
  """
  total = 0.0
  try:
    rollup = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text()
    for line in rollup.splitlines():
      if line.startswith('Pss:'):
        total += int(line.split()[1]) / 1024
    times = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2]
    ticks = sum(map(int, times.split()[11:13]))  # User and system time.
    seen[pid] = ticks / os.sysconf('SC_CLK_TCK')
    children = [
      child
      for task in pathlib.Path(f'/proc/{pid}/task').iterdir()
      for child in (task / 'children').read_text().split()
    ]
  except OSError:  # The process has ended.
    return total
  return total + sum(_tree_mb(int(child), seen) for child in children)
