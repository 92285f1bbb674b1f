"""Keeps a log short: the same line once a minute, with how often it came."""

from collections.abc import Callable
import logging
import time
from typing import Any

from absl import logging as absl_logging

from realm_tf.serving import metrics as metrics_lib

_SECS = 60.0
_MOST_LINES = 8  # Of a place in the code, in a minute.


class _Minute:
  """What a place in the code wrote since a moment, and how often in vain."""

  def __init__(self, begun: float, *said: str):
    self.begun, self.said, self.dropped = begun, set(said), 0


class OnceAMinute(logging.Filter):
  """Drops warnings and errors that were written in the last minute.

  The first one of a place in the code has its traceback; the others are lines.

  Attributes:
    num_dropped: Lines that were dropped so far.
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
      before = f' ({minute.dropped} more before.)'
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
  """Makes the log of this process short; what is dropped is counted."""
  short = OnceAMinute()
  # OpenVINO takes absl's handler away.
  logging.getLogger().handlers.clear()
  absl_logging.use_absl_handler()
  absl_logging.get_absl_handler().addFilter(short)
  metrics.add_gauge(
    'dropped_log_lines', 'Repeated log lines.', lambda: short.num_dropped
  )
