"""Tests for realm_tf.world.numerals."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.world import numerals


class NumeralsTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.4449, '0.4'),
    (7, '7'),
    (82.16, '82'),
    (9999, '9999'),
    (15853, '16 thousand'),
    (456123, '456 thousand'),
    (1_234_567, '1235 thousand'),
    (12_345_678, '12 million'),
    (1_411_778_724, '1412 million'),
  )
  def test_counts_are_whole(self, value, expected):
    self.assertEqual(numerals.rounded_count(value), expected)

  @parameterized.parameters((0.2, '1'), (99.94, '100'), (1234.4, '1234'))
  def test_distances_are_whole(self, value, expected):
    self.assertEqual(numerals.kilometres(value), expected)

  def test_latitude_names_its_hemisphere(self):
    self.assertEqual(numerals.latitude(-33.87), '34 degrees south')
    self.assertEqual(numerals.latitude(6.45), '6 degrees north')

  def test_rejects_what_is_no_count(self):
    with self.assertRaisesRegex(ValueError, 'positive'):
      numerals.rounded_count(0)


if __name__ == '__main__':
  absltest.main()
