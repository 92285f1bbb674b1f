"""Tests for realm_tf.world.geography."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.world import geography

_QUARTER_KM = 6371.0 * np.pi / 2  # From the equator to a pole.


class GeographyTest(parameterized.TestCase):
  def test_distances_have_an_origin_per_row(self):
    equator = np.array([[0.0, 0.0], [0.0, 90.0], [0.0, 180.0]])
    poles = np.array([[90.0, 0.0], [-90.0, 77.0]])
    np.testing.assert_allclose(
      geography.distances_km(equator[:1], equator),
      [[0.0, _QUARTER_KM, 2 * _QUARTER_KM]],
    )
    np.testing.assert_allclose(
      geography.distances_km(equator, poles), np.full([3, 2], _QUARTER_KM)
    )

  def test_one_degree_of_latitude_is_111_km(self):
    distance = geography.distances_km(
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
    actual = geography.compass_direction(np.zeros(2), np.array(target))
    self.assertEqual(actual, expected)

  def test_direction_crosses_the_date_line(self):
    self.assertEqual(
      geography.compass_direction(
        np.array([0.0, 179.0]), np.array([0.0, -179.0])
      ),
      'east',
    )


if __name__ == '__main__':
  absltest.main()
