"""Tests for realm_tf.serving.metrics."""

import re

from absl.testing import absltest

from realm_tf.serving import metrics as metrics_lib


def _values(metrics):
  """Returns {name with labels: value}, once every line is understood."""
  values = {}
  for line in metrics.text().decode().splitlines():
    if not line.startswith('#'):
      name, value = re.fullmatch(r'(\w+(?:\{[^{}]+\})?) (\S+)', line).groups()
      values[name] = float(value)
  return values


class MetricsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.metrics = metrics_lib.Metrics()

  def test_requests_by_route_and_code(self):
    self.metrics.count_request('/b', 200, 0.5)
    self.metrics.count_request('/b', 200, 0.004)
    self.metrics.count_refusal('other', 404)
    values = _values(self.metrics)
    self.assertEqual(values['realm_requests_total{code="200",route="/b"}'], 2)
    self.assertEqual(
      values['realm_requests_total{code="404",route="other"}'], 1
    )
    self.assertEqual(values['realm_request_seconds_count'], 2)
    self.assertEqual(values['realm_request_seconds_bucket{le="0.005"}'], 1)
    self.assertAlmostEqual(values['realm_request_seconds_sum'], 0.504)

  def test_batches_and_swaps(self):
    for size in (1, 4, 5):
      self.metrics.count_batch(size)
    self.metrics.count_swap('refused')
    values = _values(self.metrics)
    self.assertEqual(values['realm_batch_size_bucket{le="4.0"}'], 2)
    self.assertEqual(values['realm_batch_size_sum'], 10)
    self.assertEqual(values['realm_swaps_total{result="refused"}'], 1)

  def test_gauges_are_read_when_somebody_looks(self):
    queue = []
    self.metrics.add_gauge('queue_length', 'Waiting.', lambda: len(queue))
    self.assertEqual(_values(self.metrics)['realm_queue_length'], 0)
    queue.append(1)
    self.assertEqual(_values(self.metrics)['realm_queue_length'], 1)

  def test_memory_of_the_process(self):
    values = _values(self.metrics)
    self.assertGreater(values['process_resident_memory_bytes'], 1 << 20)

  def test_two_servers_count_apart(self):
    metrics_lib.Metrics().count_batch(3)
    self.assertEqual(_values(self.metrics)['realm_batch_size_count'], 0)


if __name__ == '__main__':
  absltest.main()
