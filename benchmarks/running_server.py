"""Runs bin.serve as a process, for benchmarks."""

import subprocess
import sys
import threading
import urllib.request


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
