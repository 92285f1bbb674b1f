"""Processes of stages, forked from one that has imported all and started none.

A worker has its own process group, log and number of threads. It ends with the
runner, even if that is killed.
"""

from collections.abc import Iterable
import importlib
import multiprocessing
from multiprocessing import connection
from multiprocessing import forkserver
import os
import re
import shlex
import signal
import sys
import threading
import time

from . import recipe as recipe_lib

import tqdm

from realm_tf import errors

# bin/ has this name in a checkout, the other one when installed.
BIN = 'realm_tf.bin' if __package__.startswith('realm_tf.') else 'bin'
_THREADS = (
  'OMP_NUM_THREADS',
  'TF_NUM_INTEROP_THREADS',
  'TF_NUM_INTRAOP_THREADS',
)
_PATIENCE_SECS = 20.0  # A trainer writes a checkpoint when it is stopped.
_END_BYTES = 1 << 16  # Of a log.
_CONTEXT = multiprocessing.get_context('forkserver')


class Worker:
  """A binary or function in its own process.

  Attributes:
    secs: Processor seconds, at the end.
  """

  def __init__(self, run: recipe_lib.Run, log: str, threads: int):
    self.log = log
    self.secs = _CONTEXT.RawValue('d')
    self.process = _CONTEXT.Process(
      target=_work, args=(run, log, threads, self.secs)
    )
    self.process.start()

  def signal(self, number: int) -> None:
    """Signals the process and its children."""
    try:
      os.killpg(self.process.pid or 0, number)
    except ProcessLookupError:  # It has ended, or has no group yet.
      self.process.kill()

  def percent(self) -> str:
    """Returns the last progress in the log, as ' 12 %', or ''."""
    bars = re.findall(r'(\d+)%\|', self._end())
    return f' {bars[-1]} %' if bars else ''

  def last_error(self) -> str:
    """Returns the log's ERROR line, or its last line."""
    lines = [line for line in self._end().splitlines() if line.strip()]
    wrong = [line for line in lines if line.startswith('ERROR: ')]
    return (wrong or lines or [''])[-1].removeprefix('ERROR: ').strip()

  def _end(self) -> str:
    with open(self.log, 'rb') as file:
      file.seek(max(0, os.path.getsize(self.log) - _END_BYTES))
      return file.read().decode(errors='replace')


def start_server(imports_binaries: bool) -> None:
  """Starts the process from which workers are forked."""
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  # NumPy reads it when it is imported; a second thread would only spin.
  os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
  if imports_binaries:
    _CONTEXT.set_forkserver_preload([f'{__package__}.preloaded'])
  handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ours to handle.
  forkserver.ensure_running()
  signal.signal(signal.SIGINT, handler)


def stop(workers: Iterable[Worker]) -> None:
  """Ends workers and their children."""
  workers = list(workers)
  deadline = time.monotonic() + _PATIENCE_SECS
  for worker in workers:
    worker.signal(signal.SIGTERM)
  for worker in workers:
    worker.process.join(max(0.0, deadline - time.monotonic()))
    worker.signal(signal.SIGKILL)
    worker.process.join(_PATIENCE_SECS)


def _work(run, log, threads, secs) -> None:
  os.setpgid(0, 0)
  threading.Thread(target=_end_with_runner, daemon=True).start()
  with open(log, 'a') as file:
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
  sys.stdout = os.fdopen(1, 'w', buffering=1, closefd=False)
  sys.stderr = os.fdopen(2, 'w', buffering=1, closefd=False)
  os.environ.update(dict.fromkeys(_THREADS, str(threads)))
  # Its own lock is a semaphore, which a killed process would leave.
  tqdm.tqdm.set_lock(threading.RLock())
  try:
    _call(*run)
  finally:
    secs.value = sum(os.times()[:4])  # With its children's.


def _end_with_runner() -> None:
  runner = multiprocessing.parent_process()
  if runner is not None:
    connection.wait([runner.sentinel])
    os.killpg(0, signal.SIGKILL)


def _call(action, flags) -> None:
  """Runs a binary or a function; the process ends with its exit code."""
  if isinstance(action, str):
    argv = list(recipe_lib.arguments(flags))
    print(f'$ python -m {BIN}.{action} {shlex.join(argv)}')
    sys.exit(importlib.import_module(f'{BIN}.launcher').call(action, argv))
  try:
    action(**flags)
  except errors.UserError as error:
    sys.exit(f'ERROR: {error}')
