"""Runs bin.serve and its clients in their own processes."""

from collections.abc import Callable, Iterator
import contextlib
import json
import subprocess
import sys
import threading
from typing import Any
import urllib.request

CLIENTS = 8


class Server:
  """A running bin.serve.

  Without a `corpus_dir`, `model_dir` is a recipe's.
  """

  def __init__(self, model_dir: str, corpus_dir: str, *flags: str):
    self._process = subprocess.Popen(
      [
        *(sys.executable, '-m', 'bin.serve', '--port=0', *flags),
        f'--model_dir={model_dir}',
        *([f'--corpus_dir={corpus_dir}'] if corpus_dir else []),
      ],
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
    )
    for line in self._process.stdout:
      if line.startswith('Serving at'):
        self.url = line.split()[2]
        break
    else:
      sys.exit('bin.serve did not start.')
    # Reads the log, or the server would block on a full pipe.
    threading.Thread(target=self._process.stdout.read, daemon=True).start()

  def memory_mb(self) -> float:
    """Returns the resident memory of the server."""
    with urllib.request.urlopen(self.url + 'metrics') as reply:
      for line in reply.read().decode().splitlines():
        if line.startswith('process_resident_memory_bytes '):
          return float(line.split()[1]) / (1 << 20)
    return float('nan')

  def kill(self) -> None:
    """Sends SIGKILL."""
    self._process.kill()
    self._process.wait()

  def close(self) -> None:
    """Sends SIGTERM, and waits for the end."""
    self._process.terminate()
    self._process.wait()


@contextlib.contextmanager
def load(
  url: str, questions_file: str, requests: int
) -> Iterator[Callable[[], dict[str, Any]]]:
  """Lets `CLIENTS` clients ask until the end of the `with`.

  Yields a function that waits for the figures of the next `requests`.
  """
  with subprocess.Popen(
    [
      *(sys.executable, '-m', 'benchmarks.serve_clients', url),
      *(questions_file, str(CLIENTS), str(requests), 'on'),
    ],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
  ) as clients:
    yield lambda: json.loads(clients.stdout.readline())
    clients.stdin.close()
    for _ in clients.stdout:
      pass
