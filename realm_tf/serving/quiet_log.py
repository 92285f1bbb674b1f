"""Keeps a log short: the same line once a minute, with how often it came."""

from collections.abc import Callable
import logging
import time

from absl import logging as absl_logging

from realm_tf.serving import metrics as metrics_lib

_SECS = 60.0


class OnceAMinute(logging.Filter):
  """Drops warnings and errors of a place in the code that wrote one lately.

  The first one has its traceback; those that follow have one line.

  Attributes:
    num_dropped: Lines that were dropped so far.
  """

  def __init__(self, clock: Callable[[], float] = time.monotonic):
    super().__init__()
    self._clock = clock
    # Place -> when it wrote its last line, and how many were dropped since.
    self._places: dict[tuple, tuple[float, int]] = {}
    self.num_dropped = 0

  def filter(self, record: logging.LogRecord) -> bool:
    if record.levelno < logging.WARNING:
      return True
    kind, error, _ = record.exc_info or (None, None, None)
    place, now = (record.pathname, record.lineno, kind), self._clock()
    if place not in self._places:
      self._places[place] = now, 0
      return True
    last, dropped = self._places[place]
    if now < last + _SECS:
      self._places[place] = last, dropped + 1
      self.num_dropped += 1
      return False
    self._places[place] = now, 0
    cause = f' {kind.__name__}: {error}' if kind else ''
    record.msg = f'{record.getMessage()}{cause} ({dropped} more before.)'
    record.args = record.exc_info = record.exc_text = None
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
