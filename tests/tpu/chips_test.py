"""Tests for realm_tf.tpu.chips."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.tpu import chips


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

  @parameterized.parameters(
    # 22.0 TFLOP / 197 TFLOP/s; 322 GB / 819 GB/s.
    ('v5e:2x2', 22.0e12, 322e9, 0, (0.112, 0.393, 0)),
    # A core has half of 123 TFLOP/s and 900 GB/s.
    ('v3:2x2', 61.5e12, 225e9, 0, (1, 0.5, 0)),
    # Each of 4 chips sends 3/4 of the parts twice, at 328 GB/s.
    ('v3:2x2', 0, 0, 328e9, (0, 0, 1.5)),
  )
  def test_a_core_has_its_share_of_the_peaks(
    self, name, flops, traffic, reduced, seconds
  ):
    (where,) = chips.parse(name)
    found = chips.roofline(where, flops, traffic, reduced)
    expected = zip(('arithmetic', 'traffic', 'sums'), seconds, strict=True)
    for limit, secs in expected:
      self.assertAlmostEqual(found[limit], secs, places=3)


if __name__ == '__main__':
  absltest.main()
