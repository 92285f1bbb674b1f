"""Tests for realm_tf.serving.templates."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.serving import templates


class TemplatesTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.123456, '0.1235'),
    (-2.5, '−2.5'),
    (12345.6, '12,346'),
    (12345, '12,345'),
    (1e-5, '1e−05'),
    (float('nan'), 'nan'),
    (True, True),
    ('-', '-'),
    ([48.5, 52.0], '48.5 to 52'),
  )
  def test_numbers_have_about_four_digits(self, value, expected):
    self.assertEqual(templates.number(value), expected)


if __name__ == '__main__':
  absltest.main()
