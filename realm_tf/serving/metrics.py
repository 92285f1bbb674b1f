"""What the server counts, as the text that Prometheus reads.

requests, batches, versions -> Metrics -> `text` -> GET /metrics
"""

import bisect
from collections.abc import Callable, Sequence
import os
import threading

_LATENCY_SECS = (
  *(0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5),
  *(1.0, 2.0, 5.0, 10.0, 30.0),
)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_STATM = '/proc/self/statm'


class Counter:
  """Counts up, once for each combination of labels."""

  kind = 'counter'

  def __init__(self, *labels: str):
    self._labels = labels
    self._values: dict[tuple[str, ...], float] = {}
    self._lock = threading.Lock()

  def add(self, *values: str, by: float = 1.0) -> None:
    """Counts `by` more of the labels' `values`, which are few."""
    with self._lock:
      self._values[values] = self._values.get(values, 0.0) + by

  def lines(self, name: str) -> list[str]:
    with self._lock:
      items = sorted(self._values.items())
    return [
      f'{name}{_braced(zip(self._labels, values))} {number:g}'
      for values, number in items or ([((), 0.0)] if not self._labels else [])
    ]


class Gauge:
  """A number as it is when somebody looks."""

  kind = 'gauge'

  def __init__(self, read: Callable[[], float]):
    self._read = read

  def lines(self, name: str) -> list[str]:
    return [f'{name} {self._read():.15g}']


class Histogram:
  """How often a number was at most so large.

  Args:
    bounds: Ascending; above the last is +Inf.
  """

  kind = 'histogram'

  def __init__(self, bounds: Sequence[float]):
    self._bounds = tuple(bounds)
    self._counts = [0] * (len(bounds) + 1)
    self._sum = 0.0
    self._lock = threading.Lock()

  def observe(self, value: float) -> None:
    with self._lock:
      self._counts[bisect.bisect_left(self._bounds, value)] += 1
      self._sum += value

  def lines(self, name: str) -> list[str]:
    with self._lock:
      counts, total = list(self._counts), self._sum
    lines, so_far = [], 0
    for bound, count in zip((*self._bounds, float('inf')), counts):
      so_far += count
      shown = '+Inf' if bound == float('inf') else f'{bound:g}'
      lines.append(f'{name}_bucket{_braced([("le", shown)])} {so_far}')
    return [*lines, f'{name}_sum {total:.15g}', f'{name}_count {so_far}']


class Metrics:
  """All that the server counts.

  Attributes:
    requests: By route and status code.
    latency: Seconds from a request's headers to its answer.
    batch_sizes: Questions that were answered together.
    swaps: Newer versions taken over, and refused ones, by 'result'.
    gauges: Name without prefix -> (help, reads the number).
  """

  def __init__(self):
    self.requests = Counter('route', 'code')
    self.latency = Histogram(_LATENCY_SECS)
    self.batch_sizes = Histogram(_BATCH_SIZES)
    self.swaps = Counter('result')
    self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}

  def text(self) -> str:
    """Returns everything in Prometheus' text format 0.0.4."""
    lines = []
    for name, (about, metric) in self._all().items():
      name = f'realm_{name}'
      lines += [f'# HELP {name} {about}', f'# TYPE {name} {metric.kind}']
      lines += metric.lines(name)
    return '\n'.join(lines) + '\n'

  def _all(self):
    return {
      'requests_total': ('Requests by route and status code.', self.requests),
      'request_seconds': ('Time to answer a request.', self.latency),
      'batch_size': ('Questions answered together.', self.batch_sizes),
      'swaps_total': ('Newer versions, loaded or refused.', self.swaps),
      'resident_memory_bytes': ('Of this process.', Gauge(resident_bytes)),
      **{
        name: (about, Gauge(read))
        for name, (about, read) in self.gauges.items()
      },
    }


def resident_bytes() -> float:
  """Returns the memory of this process; NaN where the system has no /proc."""
  try:
    with open(_STATM) as file:
      pages = int(file.read().split()[1])
  except OSError:
    return float('nan')
  return float(pages * os.sysconf('SC_PAGE_SIZE'))


def _braced(pairs) -> str:
  """Returns {name="value"}; values are ours, but quoted all the same."""
  quoted = [f'{name}="{_escape(value)}"' for name, value in pairs]
  return '{' + ','.join(quoted) + '}' if quoted else ''


def _escape(value: str) -> str:
  return value.replace('\\', r'\\').replace('"', r'\"').replace('\n', r'\n')
