"""Tests for realm_tf.serving.metrics."""

import re

from absl.testing import absltest

from realm_tf.serving import metrics as metrics_lib


def _values(metrics):
  """Returns {name with labels: value}."""
  values = {}
  for line in metrics.text().decode().splitlines():
    if not line.startswith('#'):
      name, value = re.fullmatch(r'(\w+(?:\{[^{}]+\})?) (\S+)', line).groups()
      values[name] = float(value)
  return values


class MetricsTest(absltest.TestCase):
  def test_counters_and_gauges(self):
    metrics, queue = metrics_lib.Metrics(), []
    metrics_lib.Metrics().batch_sizes.observe(3)  # Another server.
    metrics.requests.labels('/b', '200').inc(2)
    metrics.swaps.labels('refused').inc()
    metrics.drops.labels('slow').inc()
    metrics.add_gauge('queue_length', 'Waiting.', lambda: len(queue))
    for size in (1, 4, 5):
      metrics.batch_sizes.observe(size)
    queue.append(1)  # `text` reads the gauge later.
    values = _values(metrics)
    self.assertContainsSubset(
      {
        'realm_requests_total{code="200",route="/b"}': 2,
        'realm_swaps_total{result="refused"}': 1,
        'realm_dropped_connections_total{client="slow"}': 1,
        'realm_batch_size_bucket{le="4.0"}': 2,
        'realm_batch_size_sum': 10,
        'realm_request_seconds_count': 0,
        'realm_queue_length': 1,
      },
      values,
    )
    self.assertGreater(values['process_resident_memory_bytes'], 1 << 20)


if __name__ == '__main__':
  absltest.main()
