"""Counts requests, batches and versions for Prometheus (GET /metrics)."""

from collections.abc import Callable

import prometheus_client

_LATENCY_SECS = (
  *(0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5),
  *(1.0, 2.0, 5.0, 10.0, 30.0),
)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8'


class Metrics:
  """Counters of the server, and the resources of its process."""

  def __init__(self):
    # Not the global registry: a program may have several servers.
    self._registry = prometheus_client.CollectorRegistry()
    self._requests = prometheus_client.Counter(
      'realm_requests',
      'Requests by route and status code.',
      ['route', 'code'],
      registry=self._registry,
    )
    self._latency = self._histogram(
      'request_seconds', 'Time to answer a request.', _LATENCY_SECS
    )
    self._batch_sizes = self._histogram(
      'batch_size', 'Questions answered together.', _BATCH_SIZES
    )
    self._swaps = prometheus_client.Counter(
      'realm_swaps',
      'Newer versions, loaded or refused.',
      ['result'],
      registry=self._registry,
    )
    self._drops = prometheus_client.Counter(
      'realm_dropped_connections',
      'Connections that were dropped: idle for others, slow to read.',
      ['client'],
      registry=self._registry,
    )
    prometheus_client.ProcessCollector(registry=self._registry)

  def count_request(self, route: str, code: int, seconds: float) -> None:
    """Counts an answer, after the seconds since the request's headers."""
    self._latency.observe(seconds)
    self.count_refusal(route, code)

  def count_refusal(self, route: str, code: int) -> None:
    """Counts a request that reached no handler."""
    self._requests.labels(route, str(code)).inc()

  def count_batch(self, size: int) -> None:
    """Counts a batch of questions that were answered together."""
    self._batch_sizes.observe(size)

  def count_swap(self, result: str) -> None:
    """Counts a newer version that was 'loaded' or 'refused'."""
    self._swaps.labels(result).inc()

  def count_drop(self, client: str) -> None:
    """Counts a connection that was dropped, of an 'idle' or 'slow' client."""
    self._drops.labels(client).inc()

  def add_gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
    """Adds a number that is read at each GET /metrics."""
    gauge = prometheus_client.Gauge(
      f'realm_{name}', about, registry=self._registry
    )
    gauge.set_function(read)

  def text(self) -> bytes:
    """Returns everything in Prometheus' text format 0.0.4."""
    return prometheus_client.generate_latest(self._registry)

  def _histogram(self, name, about, bounds):
    return prometheus_client.Histogram(
      f'realm_{name}', about, buckets=bounds, registry=self._registry
    )
