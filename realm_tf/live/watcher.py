"""Calls a function at regular times, in a thread of its own."""

from collections.abc import Callable
import threading

from absl import logging


class Watcher:
  """Calls `look` every `poll_secs` seconds until `close`, even after errors."""

  def __init__(self, look: Callable[[], object], poll_secs: float):
    self._look, self._poll_secs = look, poll_secs
    self._closed = threading.Event()
    self._thread = threading.Thread(
      target=self._run, name='watcher', daemon=True
    )
    self._thread.start()

  def close(self) -> None:
    """Stops the calls and waits until the current one has ended."""
    self._closed.set()
    self._thread.join()

  def _run(self) -> None:
    while not self._closed.wait(self._poll_secs):
      try:
        self._look()
      except Exception:
        logging.exception('A look for newer versions failed.')
