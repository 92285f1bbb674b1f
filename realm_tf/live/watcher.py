"""Calls a function again and again, in a thread of its own."""

from collections.abc import Callable
import threading

from absl import logging


class Watcher:
  """Calls `look` every `poll_secs` seconds until `close`.

  An exception of `look` is logged, and the next call comes in time: a watcher
  that died would be missed much later.
  """

  def __init__(self, look: Callable[[], object], poll_secs: float):
    self._look, self._poll_secs = look, poll_secs
    self._closed = threading.Event()
    self._thread = threading.Thread(
      target=self._run, name='watcher', daemon=True
    )
    self._thread.start()

  def close(self) -> None:
    """Ends the calls; waits for the end of a call that has begun."""
    self._closed.set()
    self._thread.join()

  def _run(self) -> None:
    while not self._closed.wait(self._poll_secs):
      try:
        self._look()
      except Exception:
        logging.exception('A look for something newer failed.')
