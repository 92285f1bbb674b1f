"""Tests for realm_tf.planning.chips."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.planning import chips


class ChipsTest(parameterized.TestCase):
  @parameterized.parameters(
    # 4 * 8 chips of two cores, each with half of 32 GiB.
    ('v3:4x8', 64, 16 * 2**30),
    ('v5e:8x8', 64, 16e9),
    ('v4:2x2x1', 8, 16 * 2**30),
  )
  def test_a_slice_has_its_cores_and_their_memory(self, name, cores, memory):
    (found,) = chips.parse(name)
    self.assertEqual(found.num_cores, cores)
    self.assertEqual(found.core_memory, memory)

  def test_all_is_64_cores_or_chips_of_each_kind(self):
    found = chips.parse('all')
    self.assertEqual([each.num_cores for each in found], [64] * 6)
    self.assertEqual(found, chips.parse(','.join(each.name for each in found)))

  @parameterized.parameters('', 'v5e', 'v5e:', 'h100:2x2', 'v5e:2xx', 'v3:2x2,')
  def test_another_name_is_refused(self, name):
    with self.assertRaisesRegex(errors.UserError, 'v5e:8x8'):
      chips.parse(name)

  def test_the_slower_of_arithmetic_and_traffic_is_the_limit(self):
    (v5e,) = chips.parse('v5e:2x2')
    # 22.0 TFLOP / 197 TFLOP/s; 322 GB / 819 GB/s.
    found = chips.roofline(v5e, 22.0e12, 322e9)
    self.assertAlmostEqual(found.arithmetic, 0.112, places=3)
    self.assertAlmostEqual(found.seconds, 0.393, places=3)
    self.assertEqual(found.limit, 'traffic')
    self.assertEqual(chips.roofline(v5e, 22.0e12, 9e9).limit, 'arithmetic')

  def test_a_core_of_two_has_half_of_the_chip(self):
    (v3,) = chips.parse('v3:2x2')
    # 123 TFLOP/s and 900 GB/s a chip.
    found = chips.roofline(v3, 61.5e12, 225e9)
    self.assertAlmostEqual(found.arithmetic, 1.0)
    self.assertAlmostEqual(found.traffic, 0.5)

  def test_each_chip_sends_nearly_twice_the_bytes_of_a_sum(self):
    (v3,) = chips.parse('v3:2x2')
    # Each of 4 chips sends 3/4 of the parts twice, at 328 GB/s.
    found = chips.roofline(v3, 1e12, 1e9, 328e9)
    self.assertAlmostEqual(found.sums, 1.5)
    self.assertEqual((found.seconds, found.limit), (found.sums, 'sums'))


if __name__ == '__main__':
  absltest.main()
