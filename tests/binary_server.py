"""Starts binaries, which tests may kill, as forks of one process."""

import json
import math
import os
import signal
import subprocess
import sys
import time

from tests import forked_binaries
from tests import source_tree


class BinaryServer:
  """Forks binaries in another process, which loads TensorFlow once.

  `log_dir` receives stdout and stderr of the binaries. `close` must be called.
  """

  def __init__(self, log_dir: str):
    self._log_dir = log_dir
    self._process = subprocess.Popen(
      [sys.executable, '-m', 'tests.binary_server'],
      cwd=source_tree.ROOT,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      text=True,
    )

  def start(self, name: str, *flags: str, clock_offset: float = 0.0) -> int:
    """Starts `python -m bin.NAME FLAGS`; returns its process id.

    Its clock is `clock_offset` seconds fast.
    """
    log = os.path.join(self._log_dir, f'{name}.{time.monotonic_ns()}')
    return self._ask('start', name, flags, clock_offset, log)

  def kill(self, pid: int) -> None:
    """Ends a binary without warning, like a power cut."""
    os.kill(pid, signal.SIGKILL)  # Before `wait`, even an ended process exists.
    self.wait(pid)

  def wait(self, pid: int) -> int:
    """Returns a binary's exit code, once it has ended."""
    return self._ask('wait', pid)

  def finish(self, *pids: int, timeout_secs: float = math.inf) -> None:
    """Waits for binaries; after an exit code that is not 0, all end.

    So they do after `timeout_secs`.
    """
    deadline = time.monotonic() + timeout_secs
    running, code = list(pids), 0
    while running and not code:
      if time.monotonic() > deadline:
        code = f'none within {timeout_secs:.0f} s'
        break
      for pid in running:
        if not self.is_running(pid):
          running.remove(pid)
          code = self.wait(pid)
          break
      time.sleep(0.01)
    for pid in running:
      self.kill(pid)
    if code:
      raise AssertionError(f'Exit code {code}:\n{self.logs()[-6000:]}')

  def is_running(self, pid: int) -> bool:
    return self._ask('is_running', pid)

  def close(self) -> None:
    self._process.stdin.close()
    self._process.wait()
    self._process.stdout.close()

  def logs(self) -> str:
    texts = []
    for name in sorted(os.listdir(self._log_dir)):
      with open(os.path.join(self._log_dir, name)) as file:
        texts.append(file.read())
    return '\n'.join(texts)

  def _ask(self, *command):
    self._process.stdin.write(json.dumps(command) + '\n')
    self._process.stdin.flush()
    return json.loads(self._process.stdout.readline())


def _start(name, flags, clock_offset, log):
  child = os.fork()
  if child:
    return child
  with open(log, 'w') as file:
    for descriptor in (1, 2):
      os.dup2(file.fileno(), descriptor)
  os.close(0)
  real_time = time.time
  time.time = lambda: real_time() + clock_offset
  return forked_binaries.become(name, flags)  # Does not return.


def _wait(pid):
  return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _is_running(pid):
  # WNOWAIT: `wait` can still collect the exit code.
  flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
  return os.waitid(os.P_PID, pid, flags) is None


def main():
  forked_binaries.preload()
  for line in sys.stdin:
    command, *arguments = json.loads(line)
    commands = {'start': _start, 'wait': _wait, 'is_running': _is_running}
    answer = commands[command](*arguments)
    sys.stdout.write(json.dumps(answer) + '\n')
    sys.stdout.flush()


if __name__ == '__main__':
  main()
