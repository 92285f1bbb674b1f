"""The server's metrics for Prometheus (GET /metrics)."""

from collections.abc import Callable
import time

import prometheus_client

_LATENCY_SECS = (
  *(0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5),
  *(1.0, 2.0, 5.0, 10.0, 30.0),
)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8'


class Metrics:
  """Counters of the server, and the resources of its process."""

  def __init__(self) -> None:
    # The global registry could hold the metrics of one server only.
    self._registry = prometheus_client.CollectorRegistry()
    self.requests = prometheus_client.Counter(
      'realm_requests',
      'Requests by route and status code.',
      ['route', 'code'],
      registry=self._registry,
    )
    self.request_seconds = prometheus_client.Histogram(
      'realm_request_seconds',
      'Time to answer a request.',
      buckets=_LATENCY_SECS,
      registry=self._registry,
    )
    self.batch_sizes = prometheus_client.Histogram(
      'realm_batch_size',
      'Questions answered together.',
      buckets=_BATCH_SIZES,
      registry=self._registry,
    )
    self.swaps = prometheus_client.Counter(
      'realm_swaps',
      'Newer versions, loaded or refused.',
      ['result'],
      registry=self._registry,
    )
    self.drops = prometheus_client.Counter(
      'realm_dropped_connections',
      'Dropped connections: idle ones to make room, and slow readers.',
      ['client'],
      registry=self._registry,
    )
    prometheus_client.ProcessCollector(registry=self._registry)

  def count(self, route: str, code: str, begun: float) -> None:
    """Counts a request that began at `begun`, from `time.monotonic`."""
    self.requests.labels(route, code).inc()
    self.request_seconds.observe(time.monotonic() - begun)

  def add_gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
    """Adds a number that every GET /metrics reads again."""
    prometheus_client.Gauge(
      f'realm_{name}', about, registry=self._registry
    ).set_function(read)

  def text(self) -> bytes:
    return prometheus_client.generate_latest(self._registry)
