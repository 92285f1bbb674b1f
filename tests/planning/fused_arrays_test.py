"""Tests for realm_tf.planning.fused_arrays, by the traffic of programs."""

from absl.testing import absltest

from realm_tf.planning import compiled_module
from realm_tf.planning import hbm_traffic

# Of 10 turns, one's 4 floats.
_ALL, _ONE = 'f32[10,4]{1,0}', 'f32[1,4]{1,0}'


def _bytes(*lines, fused=()):
  inner = '\n'.join(f'  {line}' for line in fused)
  body = '\n'.join(f'  {line}' for line in lines)
  text = (
    f'%fused (p: f32[1]) -> f32[1] {{\n{inner}\n}}\n'
    f'ENTRY %all (p: f32[1]) -> f32[1] {{\n{body}\n}}\n'
  )
  found = hbm_traffic.count(*compiled_module.parse(text))
  return sum(found.values())


class FusedArraysTest(absltest.TestCase):
  def test_a_turn_reads_its_slice(self):
    found = _bytes(
      f'%all = {_ALL} parameter(0)',
      '%i = s32[]{:S(2)} parameter(1)',
      f'%one = {_ONE} dynamic-slice(%all, %i)',
    )
    self.assertEqual(found, 16 + 16)

  def test_a_turn_writes_its_slice_in_place(self):
    found = _bytes(
      f'%all = {_ALL} parameter(0)',
      f'%one = {_ONE} parameter(1)',
      '%i = s32[]{:S(2)} parameter(2)',
      f'%new = {_ALL} dynamic-update-slice(%all, %one, %i)',
    )
    self.assertEqual(found, 16 + 16)

  def test_a_fusion_touches_the_same_slices(self):
    fused = (
      f'%into = {_ALL} parameter(0)',
      f'%from = {_ALL} parameter(1)',
      '%i = s32[] parameter(2)',
      f'%flat = {_ALL} bitcast(%from)',
      f'%one = {_ONE} dynamic-slice(%flat, %i)',
      f'%change = {_ONE} negate(%one)',
      f'ROOT %new = {_ALL} dynamic-update-slice(%into, %change, %i)',
    )
    found = _bytes(
      f'%a = {_ALL} parameter(0)',
      f'%b = {_ALL} parameter(1)',
      '%i = s32[]{:S(2)} parameter(2)',
      f'%f = {_ALL} fusion(%a, %b, %i), kind=kLoop, calls=%fused',
      fused=fused,
    )
    self.assertEqual(found, 16 + 16)

  def test_an_array_that_is_also_read_whole_counts_whole(self):
    fused = (
      f'%from = {_ALL} parameter(0)',
      '%i = s32[] parameter(1)',
      f'%one = {_ONE} dynamic-slice(%from, %i)',
      f'%twice = {_ALL} add(%from, %from)',
      f'ROOT %both = ({_ONE}, {_ALL}) tuple(%one, %twice)',
    )
    found = _bytes(
      f'%a = {_ALL} parameter(0)',
      '%i = s32[]{:S(2)} parameter(1)',
      f'%f = ({_ONE}, {_ALL}) fusion(%a, %i), kind=kLoop, calls=%fused',
      fused=fused,
    )
    # Read once, and both results are written.
    self.assertEqual(found, 160 + 16 + 160)

  def test_an_array_that_is_only_reshaped_counts_whole(self):
    fused = (
      f'%from = {_ALL} parameter(0)',
      'ROOT %flat = f32[40]{0} bitcast(%from)',
    )
    found = _bytes(
      f'%a = {_ALL} parameter(0)',
      '%f = f32[40]{0} fusion(%a), kind=kLoop, calls=%fused',
      fused=fused,
    )
    self.assertEqual(found, 160 + 160)


if __name__ == '__main__':
  absltest.main()
