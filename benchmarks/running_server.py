"""Runs bin.serve, and clients of it, as processes of their own."""

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

  Attributes:
    url: Address on loopback.
    grpc_url: The same for gRPC, with --grpc_port.
  """

  def __init__(self, model_dir: str, corpus_dir: str, *flags: str):
    self._process = subprocess.Popen(
      [
        *(sys.executable, '-m', 'bin.serve', '--port=0', *flags),
        *(f'--model_dir={model_dir}', f'--corpus_dir={corpus_dir}'),
      ],
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
    )
    for line in self._process.stdout:
      if line.startswith('Serving gRPC at port'):
        self.grpc_url = f'grpc://127.0.0.1:{line.split()[4].rstrip(".")}'
      if line.startswith('Serving at'):
        self.url = line.split()[2]
        break
    else:
      sys.exit('bin.serve did not start.')
    # Else it would wait for a reader of its log.
    threading.Thread(target=self._process.stdout.read, daemon=True).start()

  def memory_mb(self) -> float:
    """Returns the resident memory of the server."""
    with urllib.request.urlopen(self.url + 'metrics') as reply:
      for line in reply.read().decode().splitlines():
        if line.startswith('process_resident_memory_bytes '):
          return float(line.split()[1]) / (1 << 20)
    return float('nan')

  def kill(self) -> None:
    """Ends it as a power cut would."""
    self._process.kill()
    self._process.wait()

  def close(self) -> None:
    """Asks it to end, and waits for that."""
    self._process.terminate()
    self._process.wait()


@contextlib.contextmanager
def load(
  url: str, questions_file: str, requests: int
) -> Iterator[Callable[[], dict[str, Any]]]:
  """Has `CLIENTS` clients ask until the end of the `with`.

  Yields:
    A function that waits for the figures of the next `requests` requests; see
    `serve_clients`.
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
