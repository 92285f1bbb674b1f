"""Binaries and other modules in forks of one process, which loads them once.

Each pytest process has one forking process, from its first test that needs one
to its end. As a program, this module is the forking process: it reads a command
on each line, as JSON, and writes its answer.
"""

from collections.abc import Callable, Mapping
import functools
import json
import math
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import NamedTuple

import numpy as np

from tests import source_tree

Arrays = Mapping[str, Mapping[str, np.ndarray]]  # Case -> name -> array.


class Result(NamedTuple):
  """Exit code and output of a binary."""

  code: int
  stdout: str
  stderr: str


class Forks:
  """Starts processes, which tests may kill.

  `log_dir` receives their output.
  """

  def __init__(self, log_dir: str):
    self._log_dir = log_dir

  def start(self, name: str, *flags: str, clock_offset: float = 0.0) -> int:
    """Starts `python -m bin.NAME FLAGS`; returns its process id.

    Its clock is `clock_offset` seconds fast.
    """
    log = os.path.join(self._log_dir, f'{name}.{time.monotonic_ns()}')
    return _ask('start', f'bin.{name}', flags, log, clock_offset)

  def kill(self, pid: int) -> None:
    """Ends a process without warning, like a power cut."""
    os.kill(pid, signal.SIGKILL)  # Before `wait`, even an ended process exists.
    self.wait(pid)

  def wait(self, pid: int) -> int:
    """Returns the exit code of a process, once it has ended."""
    return _ask('wait', pid)

  def finish(self, *pids: int, timeout_secs: float = math.inf) -> None:
    """Waits for processes; after an exit code that is not 0, all end.

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

  def await_from(self, pid: int, is_there: Callable[[], bool]) -> None:
    """Waits for the work of a process; AssertionError if it ends before."""
    while not is_there():
      if not self.is_running(pid):
        raise AssertionError(f'It has ended:\n{self.logs()[-6000:]}')
      time.sleep(0.001)

  def is_running(self, pid: int) -> bool:
    return _ask('is_running', pid)

  def logs(self) -> str:
    names = sorted(os.listdir(self._log_dir))
    return '\n'.join(_read(os.path.join(self._log_dir, name)) for name in names)


def run_all(
  cases: list[tuple[str, list[str]]], **environment: str
) -> list[Result]:
  """Runs `python -m bin.NAME FLAGS` for each (NAME, FLAGS)."""
  return [_run(f'bin.{name}', flags, environment) for name, flags in cases]


def arrays_of(module: str) -> Arrays:
  """Runs a module whose argument is a file for `write`; returns its results.

  Only before TensorFlow starts can the CPU be split into several devices.
  """
  results: dict[str, dict[str, np.ndarray]] = {}
  with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, 'results.npz')
    done = _run(module, [path])
    if done.code:
      raise AssertionError(f'{module} failed:\n{done.stderr}')
    with np.load(path) as arrays:
      for key, value in arrays.items():
        case, _, name = key.partition('|')
        results.setdefault(case, {})[name] = value
  return results


def write(path: str, results: Arrays) -> None:
  """Writes the results of each case."""
  arrays = {
    f'{case}|{name}': value
    for case, result in results.items()
    for name, value in result.items()
  }
  np.savez(path, **arrays)


def _run(module, arguments, environment=()):
  with tempfile.TemporaryDirectory() as directory:
    log = os.path.join(directory, 'log')
    code = _ask('wait', _ask('start', module, arguments, log, 0.0, environment))
    return Result(code, _read(f'{log}.out'), _read(f'{log}.err'))


def _read(path):
  with open(path) as file:
    return file.read()


@functools.cache
def _forking() -> subprocess.Popen:
  return subprocess.Popen(
    [sys.executable, '-m', 'tests.forks'],
    cwd=source_tree.ROOT,
    stdin=subprocess.PIPE,  # It ends with this process, which closes the pipe.
    stdout=subprocess.PIPE,
    text=True,
  )


def _ask(*command):
  process = _forking()
  process.stdin.write(json.dumps(command) + '\n')
  process.stdin.flush()
  return json.loads(process.stdout.readline())


def _start(module, arguments, log, clock_offset, environment=()):
  child = os.fork()
  if child:
    return child
  for descriptor, end in ((1, 'out'), (2, 'err')):
    with open(f'{log}.{end}', 'w') as file:
      os.dup2(file.fileno(), descriptor)
  os.close(0)
  os.environ.update(environment)
  real_time = time.time
  time.time = lambda: real_time() + clock_offset
  os._exit(_call(module, arguments))


def _call(module, arguments):
  """Runs a module in this process; returns its exit code."""
  package, _, name = module.rpartition('.')
  if package == 'bin':
    from bin import launcher

    return launcher.call(name, arguments)
  sys.argv = [module, *arguments]
  try:
    runpy.run_module(module, run_name='__main__', alter_sys=True)
    return 0
  except BaseException:
    traceback.print_exc()
    return 1
  finally:
    sys.stderr.flush()


def _wait(pid):
  return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _is_running(pid):
  # WNOWAIT: `wait` can still collect the exit code.
  flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
  return os.waitid(os.P_PID, pid, flags) is None


def _preload():
  """Imports the modules of the binaries; starts no thread, as forks lose it."""
  from bin import modules

  modules.preload(source_tree.binaries())
  from realm_tf.model import precision

  # 'auto' means float32, as in tests/conftest.py.
  precision.prefers_bfloat16 = lambda: False


def main():
  _preload()
  for line in sys.stdin:
    command, *arguments = json.loads(line)
    commands = {'start': _start, 'wait': _wait, 'is_running': _is_running}
    answer = commands[command](*arguments)
    sys.stdout.write(json.dumps(answer) + '\n')
    sys.stdout.flush()


if __name__ == '__main__':
  main()
