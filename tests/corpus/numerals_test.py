"""Tests for realm_tf.corpus.numerals."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import numerals


class NumeralsTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.4449, '0.445'),
    (7, '7'),
    (82.16, '82.2'),
    (102, '102'),
    (15853, '15,900'),
    (456123, '456,000'),
    (999_600, '1 million'),
    (1_234_567, '1.23 million'),
    (1_411_778_724, '1.41 billion'),
  )
  def test_counts_keep_three_digits(self, value, expected):
    self.assertEqual(numerals.rounded_count(value), expected)

  @parameterized.parameters((5.25, '5.2'), (99.94, '99.9'), (1234.5, '1,234'))
  def test_short_distances_keep_a_decimal(self, value, expected):
    self.assertEqual(numerals.kilometres(value), expected)

  def test_latitude_names_its_hemisphere(self):
    self.assertEqual(numerals.latitude(-33.87), '33.9 degrees south')
    self.assertEqual(numerals.latitude(6.45), '6.5 degrees north')

  def test_rejects_what_has_no_digits(self):
    with self.assertRaisesRegex(ValueError, 'positive'):
      numerals.three_digits(0)


if __name__ == '__main__':
  absltest.main()
