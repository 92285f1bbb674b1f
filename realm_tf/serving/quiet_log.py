"""Keeps a log short: the same line once a minute, with how often it came."""

from collections.abc import Callable
import logging
import time
from typing import NamedTuple

from absl import logging as absl_logging

from realm_tf.serving import metrics as metrics_lib

_SECS = 60.0
_MOST_LINES = 8  # Of a place in the code, in a minute.


class _Minute(NamedTuple):
  """What a place in the code wrote since a moment, and how often in vain."""

  begun: float
  said: set[str]
  dropped: int = 0


class OnceAMinute(logging.Filter):
  """Drops warnings and errors that were written in the last minute.

  The first one of a place in the code has its traceback; the others are lines.

  Attributes:
    num_dropped: Lines that were dropped so far.
  """

  def __init__(self, clock: Callable[[], float] = time.monotonic):
    super().__init__()
    self._clock = clock
    self._places: dict[tuple, _Minute] = {}
    self.num_dropped = 0

  def filter(self, record: logging.LogRecord) -> bool:
    if record.levelno < logging.WARNING:
      return True
    kind, error, _ = record.exc_info or (None, None, None)
    place, now = (record.pathname, record.lineno, kind), self._clock()
    minute = self._places.get(place)
    if minute is None:
      self._places[place] = _Minute(now, {record.getMessage()})
      return True
    cause = f' {kind.__name__}: {error}' if kind else ''
    text, before = record.getMessage(), ''
    if now >= minute.begun + _SECS:
      before = f' ({minute.dropped} more before.)'
      minute = _Minute(now, set())
    is_new = text not in minute.said and len(minute.said) < _MOST_LINES
    if is_new:
      minute.said.add(text)
    else:
      self.num_dropped += 1
      minute = minute._replace(dropped=minute.dropped + 1)
    self._places[place] = minute
    record.msg = text + cause + before
    record.args = record.exc_info = record.exc_text = None
    return is_new


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
