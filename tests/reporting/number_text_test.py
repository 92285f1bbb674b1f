"""Tests for realm_tf.reporting.number_text."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.reporting import number_text


class NumberTextTest(parameterized.TestCase):
  @parameterized.parameters(
    (200000, '200,000'),
    (True, 'True'),
    ('per_query', 'per_query'),
    (2.28368, '2.284'),
    (0.0001, '0.0001'),
    (3e-5, '3e−05'),
    (-12.3456, '−12.35'),
    (54321.9, '54,322'),
    (float('nan'), 'nan'),
    (-float('inf'), '−inf'),
  )
  def test_short(self, value, expected):
    self.assertEqual(number_text.short(value), expected)


if __name__ == '__main__':
  absltest.main()
