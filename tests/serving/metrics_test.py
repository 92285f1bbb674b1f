"""Tests for realm_tf.serving.metrics."""

from absl.testing import absltest

from realm_tf.serving import metrics as metrics_lib


class MetricsTest(absltest.TestCase):
  def test_counter(self):
    counter = metrics_lib.Counter('route', 'code')
    self.assertEmpty(counter.lines('x'))
    counter.add('/b', '200')
    counter.add('/a"\n\\', '404')
    counter.add('/b', '200', by=2)
    self.assertEqual(
      counter.lines('x'),
      [r'x{route="/a\"\n\\",code="404"} 1', 'x{route="/b",code="200"} 3'],
    )

  def test_histogram_counts_up_to_each_bound(self):
    histogram = metrics_lib.Histogram([1, 2.5])
    for value in (0.5, 1, 2, 9):
      histogram.observe(value)
    self.assertEqual(
      histogram.lines('x'),
      [
        'x_bucket{le="1"} 2',
        'x_bucket{le="2.5"} 3',
        'x_bucket{le="+Inf"} 4',
        'x_sum 12.5',
        'x_count 4',
      ],
    )

  def test_every_line_is_of_the_text_format(self):
    metrics = metrics_lib.Metrics()
    metrics.gauges['queue_length'] = 'Waiting.', lambda: 2
    metrics.requests.add('/a', '200')
    lines = metrics.text().splitlines()
    for line in lines:
      self.assertRegex(
        line, r'^(# (HELP|TYPE) realm_\w+ .+|realm_\w+(\{[^{}]+\})? [\w.+-]+)$'
      )
    self.assertIn('realm_queue_length 2', lines)
    self.assertIn('# TYPE realm_request_seconds histogram', lines)
    self.assertGreater(metrics_lib.resident_bytes(), 1 << 20)


if __name__ == '__main__':
  absltest.main()
