"""Keeps the log short: writes repeated lines at most once a minute."""

from collections.abc import Callable
import logging
import time
from typing import Any

from absl import logging as absl_logging

from realm_tf.serving import metrics as metrics_lib

_SECS = 60.0
_MOST_LINES = 8  # Most lines from one place in the code in a minute.


class _Minute:
  """The lines from one place in the code since `begun`, and dropped ones."""

  def __init__(self, begun: float, *said: str):
    self.begun, self.said, self.dropped = begun, set(said), 0


class OnceAMinute(logging.Filter):
  """Drops warnings and errors that were written in the last minute.

  The first error of a place in the code keeps its traceback; later ones are one
  line each. `num_dropped` counts dropped lines.
  """

  def __init__(self, clock: Callable[[], float] = time.monotonic):
    super().__init__()
    self._clock = clock
    self._places: dict[Any, _Minute] = {}
    self.num_dropped = 0

  def filter(self, record: logging.LogRecord) -> bool:
    if record.levelno < logging.WARNING:
      return True
    kind, error, _ = record.exc_info or (None, None, None)
    place, now = (record.pathname, record.lineno, kind), self._clock()
    text, before = record.getMessage(), ''
    if place not in self._places:
      self._places[place] = _Minute(now, text)
      return True
    minute = self._places[place]
    if now >= minute.begun + _SECS:
      before = f' ({minute.dropped} more dropped.)'
      minute = self._places[place] = _Minute(now)
    cause = f' {kind.__name__}: {error}' if kind else ''
    record.msg = text + cause + before
    record.args = record.exc_info = record.exc_text = None
    if text in minute.said or len(minute.said) >= _MOST_LINES:
      self.num_dropped += 1
      minute.dropped += 1
      return False
    minute.said.add(text)
    return True


def install(metrics: metrics_lib.Metrics) -> None:
  """Shortens the log of this process; a metric counts the dropped lines."""
  short = OnceAMinute()
  # OpenVINO removes absl's handler.
  logging.getLogger().handlers.clear()
  absl_logging.use_absl_handler()
  absl_logging.get_absl_handler().addFilter(short)
  metrics.add_gauge(
    'dropped_log_lines', 'Repeated log lines.', lambda: short.num_dropped
  )
