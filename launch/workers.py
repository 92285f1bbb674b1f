"""Processes of stages, forked from one that has imported all and started none.

A worker has its own process group, log and number of threads. It ends with the
runner, even if that is killed.
"""

from collections.abc import Iterable
import contextlib
import importlib
import multiprocessing
from multiprocessing import connection
from multiprocessing import forkserver
import os
import resource
import shlex
import signal
import sys
import threading
import time
import traceback
from typing import Any, Optional

from . import recipe as recipe_lib

from realm_tf import errors

# bin/ has this name in a checkout, the other one when installed.
BIN = 'realm_tf.bin' if __package__.startswith('realm_tf.') else 'bin'
PRELOAD = 'REALM_PRELOAD'
_THREADS = (
  'OMP_NUM_THREADS',
  'TF_NUM_INTEROP_THREADS',
  'TF_NUM_INTRAOP_THREADS',
)
_PATIENCE_SECS = 20.0  # A trainer writes a checkpoint when it is stopped.


class Worker:
  """A binary or function in its own process."""

  def __init__(
    self,
    action: recipe_lib.Action,
    flags: dict[str, Any],
    log: str,
    threads: int,
  ):
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    self.log = log
    self._usage = receiver
    self._process = _CONTEXT.Process(
      target=_work, args=(action, flags, log, threads, sender)
    )
    self._process.start()
    sender.close()

  @property
  def sentinel(self) -> int:
    """For `connection.wait`."""
    return self._process.sentinel

  @property
  def code(self) -> Optional[int]:
    """Exit code; negative after a signal; None while it runs."""
    return self._process.exitcode

  def usage(self) -> dict[str, float]:
    """Returns an ended worker's processor seconds and peak memory."""
    with contextlib.suppress(EOFError, OSError):
      if self._usage.poll():
        return self._usage.recv()
    return {'processor_seconds': 0.0, 'peak_bytes': 0}

  def signal(self, number: int) -> None:
    """Signals the process and its children."""
    pid = self._process.pid or 0
    try:
      os.killpg(pid, number)
    except ProcessLookupError:  # It has ended, or has no group yet.
      if self.code is None:
        os.kill(pid, number)

  def join(self, timeout_secs: float) -> None:
    """Waits for the end."""
    self._process.join(timeout_secs)


def preload(binaries: Iterable[str]) -> None:
  """Names the binaries whose modules are imported before the first fork."""
  os.environ[PRELOAD] = ' '.join(sorted(set(binaries)))
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  # NumPy reads it when it is imported; a second thread would only spin.
  os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
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
    worker.join(max(0.0, deadline - time.monotonic()))
    worker.signal(signal.SIGKILL)
    worker.join(_PATIENCE_SECS)


def last_error(log: str) -> str:
  """Returns the ERROR line of a log, or its last line."""
  with open(log, errors='replace') as file:
    lines = [line for line in file.read().splitlines() if line.strip()]
  wrong = [line for line in lines if line.startswith('ERROR: ')]
  return (wrong or lines or [''])[-1].removeprefix('ERROR: ').strip()


def _work(action, flags, log, threads, sender) -> None:
  os.setpgid(0, 0)
  threading.Thread(target=_end_with_runner, daemon=True).start()
  with open(log, 'a') as file:
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
  sys.stdout = os.fdopen(1, 'w', buffering=1, closefd=False)
  sys.stderr = os.fdopen(2, 'w', buffering=1, closefd=False)
  os.environ.update(dict.fromkeys(_THREADS, str(threads)))
  code = _call(action, flags)
  used = [
    resource.getrusage(who)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
  ]
  sender.send(
    {
      'processor_seconds': sum(each.ru_utime + each.ru_stime for each in used),
      'peak_bytes': max(each.ru_maxrss for each in used) * 1024,
    }
  )
  sys.exit(code)


def _end_with_runner() -> None:
  runner = multiprocessing.parent_process()
  if runner is not None:
    connection.wait([runner.sentinel])
    os.killpg(0, signal.SIGKILL)


def _call(action: recipe_lib.Action, flags: dict[str, Any]) -> int:
  if isinstance(action, str):
    argv = list(recipe_lib.arguments(flags))
    print(f'$ python -m {BIN}.{action} {shlex.join(argv)}')
    return importlib.import_module(f'{BIN}.launcher').call(action, argv)
  try:
    action(**flags)
    return 0
  except errors.UserError as error:
    print(f'ERROR: {error}')
    return 2
  except Exception:
    traceback.print_exc()
    return 1


_CONTEXT = multiprocessing.get_context('forkserver')
