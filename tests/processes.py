"""Runs each binary in its own process, as a user does."""

from collections.abc import Callable
import os
import subprocess
import sys
import time
from typing import TypeVar

from tests import source_tree

Found = TypeVar('Found')

_POLL_SECS = 0.05
# Several processes share few cores, so each gets one thread.
_ENVIRONMENT = {
  'OMP_NUM_THREADS': '1',
  'TF_NUM_INTRAOP_THREADS': '1',
  'TF_NUM_INTEROP_THREADS': '1',
}


class Binary:
  """A running `python -m bin.NAME FLAGS`, with its output in `log_dir`."""

  def __init__(self, name: str, *flags: str, log_dir: str):
    self._name = name
    self._log = os.path.join(log_dir, f'{name}.{time.monotonic_ns()}')
    with (
      open(self._log + '.out', 'w') as out,
      open(self._log + '.err', 'w') as e,
    ):
      self._process = subprocess.Popen(
        [sys.executable, '-m', f'bin.{name}', *flags],
        cwd=source_tree.ROOT,
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=e,
      )

  @property
  def stdout(self) -> str:
    return _read(self._log + '.out')

  @property
  def stderr(self) -> str:
    return _read(self._log + '.err')

  def is_running(self) -> bool:
    return self._process.poll() is None

  def signal(self, number: int):
    self._process.send_signal(number)

  def kill(self):
    """Ends the process by SIGKILL, without warning like a power cut."""
    self._process.kill()
    self._process.wait()

  def wait(self, timeout_secs: float) -> str:
    """Returns stdout; RuntimeError if the binary fails or exceeds its time."""
    try:
      code = self._process.wait(timeout_secs)
    except subprocess.TimeoutExpired:
      self.kill()
      code = f'none within {timeout_secs:.0f} s'
    if code != 0:
      raise RuntimeError(
        f'bin.{self._name} must exit with 0. Found {code}, and on stderr:\n'
        f'{self.stderr[-4000:]}'
      )
    return self.stdout


def poll(
  find: Callable[[], Found],
  timeout_secs: float,
  interval_secs: float = _POLL_SECS,
) -> Found:
  """Returns the first true result of `find`; TimeoutError if none comes."""
  deadline = time.monotonic() + timeout_secs
  while not (found := find()):
    if time.monotonic() > deadline:
      raise TimeoutError(f'Nothing happened within {timeout_secs} s.')
    time.sleep(interval_secs)
  return found


def _read(path):
  with open(path) as file:
    return file.read()
