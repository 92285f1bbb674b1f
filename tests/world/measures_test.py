"""Tests for realm_tf.world.measures."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.world import measures

_QUARTER_KM = 6371.0 * np.pi / 2  # From the equator to a pole.


class DistancesTest(parameterized.TestCase):
  def test_distances_have_one_row_per_origin(self):
    equator = np.array([[0.0, 0.0], [0.0, 90.0], [0.0, 180.0]])
    poles = np.array([[90.0, 0.0], [-90.0, 77.0]])
    np.testing.assert_allclose(
      measures.distances_km(equator[:1], equator),
      [[0.0, _QUARTER_KM, 2 * _QUARTER_KM]],
    )
    np.testing.assert_allclose(
      measures.distances_km(equator, poles), np.full([3, 2], _QUARTER_KM)
    )

  def test_one_degree_of_latitude_is_111_km(self):
    distance = measures.distances_km(
      np.array([[10.0, 5.0]]), np.array([[11.0, 5.0]])
    )
    # 2 pi 6371 km / 360 = 111.19 km.
    np.testing.assert_allclose(distance, [[111.19]], atol=0.01)

  @parameterized.parameters(
    ((1.0, 0.0), 'north'),
    ((0.0, 1.0), 'east'),
    ((-1.0, 0.0), 'south'),
    ((0.0, -1.0), 'west'),
    ((1.0, 1.0), 'northeast'),
    ((-1.0, -1.0), 'southwest'),
    ((1.0, 0.1), 'north'),
  )
  def test_names_the_direction_of_the_target(self, target, expected):
    actual = measures.compass_direction(np.zeros(2), np.array(target))
    self.assertEqual(actual, expected)

  def test_direction_crosses_the_date_line(self):
    self.assertEqual(
      measures.compass_direction(
        np.array([0.0, 179.0]), np.array([0.0, -179.0])
      ),
      'east',
    )


class NumbersTest(parameterized.TestCase):
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
    self.assertEqual(measures.rounded_count(value), expected)

  @parameterized.parameters((0.2, '1'), (99.94, '100'), (1234.4, '1234'))
  def test_distances_are_whole(self, value, expected):
    self.assertEqual(measures.kilometres(value), expected)

  def test_latitude_names_its_hemisphere(self):
    self.assertEqual(measures.latitude(-33.87), '34 degrees south')
    self.assertEqual(measures.latitude(6.45), '6 degrees north')


if __name__ == '__main__':
  absltest.main()
