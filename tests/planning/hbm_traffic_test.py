"""Tests for realm_tf.planning.hbm_traffic."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.planning import compiled_module
from realm_tf.planning import hbm_traffic

_PRODUCTS, _COPIES, _OTHERS = (
  hbm_traffic.PRODUCTS,
  hbm_traffic.COPIES,
  hbm_traffic.OTHERS,
)


def _module(*lines, others=''):
  body = '\n'.join(f'  {line}' for line in lines)
  entry = f'ENTRY %main (p: f32[4]) -> f32[4] {{\n{body}\n}}'
  return f'HloModule m\n\n{others}\n{entry}\n'


def _count(*lines, others=''):
  text = _module(*lines, others=others)
  return hbm_traffic.count(*compiled_module.parse(text))


class HbmTrafficTest(parameterized.TestCase):
  def test_operands_are_read_and_results_written(self):
    # Reads 40 and 4 bytes, and writes 40; a parameter moves nothing.
    found = _count(
      '%p = f32[10]{0} parameter(0)',
      '%q = f32[] parameter(1)',
      'ROOT %r = f32[10]{0} add(%p, %q), metadata={op_name="x(%q)"}',
    )
    self.assertEqual(found, {_OTHERS: 84})

  def test_fast_memory_is_no_traffic(self):
    # Only the 40 bytes of %p are in HBM.
    found = _count(
      '%p = f32[10]{0} parameter(0)',
      '%r = f32[10]{0:T(128)S(1)} negate(%p)',
      '%s = f32[10]{0:T(128)S(1)} negate(%r)',
    )
    self.assertEqual(found, {_OTHERS: 40})

  @parameterized.parameters(
    ('f32[3,5]{1,0:T(8,128)}', 8 * 128 * 4),
    # The first axis is minor: 3 -> 128, 9 -> 16.
    ('f32[3,9]{0,1:T(8,128)}', 128 * 16 * 4),
    ('bf16[2,8,64]{2,1,0:T(8,128)(2,1)}', 2 * 8 * 128 * 2),
    ('f32[3,5]{1,0}', 15 * 4),
    ('pred[]', 1),
    ('(f32[2]{0}, s32[3]{0}, token[])', 20),
  )
  def test_an_array_has_the_bytes_of_its_tiles(self, result, size):
    self.assertEqual(_count(f'%a = {result} iota()'), {_OTHERS: size})

  def test_sums_over_cores_count_their_arrays_wherever_they_are(self):
    found = _count(
      '%p = f32[10]{0} parameter(0)',
      '%q = bf16[3]{0:T(128)S(1)} negate(%p)',
      '%r = (f32[10]{0}, bf16[3]{0:T(128)S(1)}) all-reduce(%p, %q)',
    )
    # Reads %p twice and writes 40; sums 40 + 128 * 2.
    self.assertEqual(found, {_OTHERS: 120, hbm_traffic.SUMS: 296})

  def test_a_copy_to_fast_memory_is_read_once(self):
    found = _count(
      '%p = f32[10]{0} parameter(0)',
      '%a = (f32[10]{0:S(1)}, f32[10]{0}, u32[]{:S(2)}) copy-start(%p)',
      '%b = f32[10]{0:S(1)} copy-done(%a)',
      # Half of %p.
      '%c = ((f32[10]{0}), f32[5]{0:S(1)}, s32[]{:S(2)}) slice-start(%p)',
      '%d = f32[5]{0:S(1)} slice-done(%c)',
    )
    self.assertEqual(found, {_COPIES: 40 + 20})

  def test_memory_that_is_only_reserved_is_no_traffic(self):
    target = 'custom_call_target='
    found = _count(
      f'%a = f32[10]{{0}} custom-call(), {target}"AllocateBuffer"',
      f'%b = f32[20]{{0}} custom-call(%a, %a), {target}"ConcatBitcast"',
      f'%c = f32[10]{{0}} custom-call(%a), {target}"TopK"',
    )
    self.assertEqual(found, {_OTHERS: 80})

  def test_an_asynchronous_instruction_is_the_one_it_calls(self):
    others = (
      '%part (a: f32[9]) -> f32[4] {\n  %a = f32[9]{0} parameter(0)\n'
      '  ROOT %s = f32[4]{0:S(1)} slice(%a)\n}\n'
    )
    found = _count(
      '%p = f32[9]{0} parameter(0)',
      '%x = ((f32[9]{0}), f32[4]{0:S(1)}) async-start(%p), calls=%part',
      '%y = ((f32[9]{0}), f32[4]{0:S(1)}) async-update(%x)',
      '%z = f32[4]{0:S(1)} async-done(%y)',
      others=others,
    )
    self.assertEqual(found, {_COPIES: 16})

  def test_a_fusion_with_a_product_is_a_product(self):
    others = (
      '%fused (a: f32[4], b: f32[4]) -> f32[4] {\n'
      '  %a = f32[4]{0} parameter(0)\n'
      '  ROOT %c = f32[4]{0} convolution(%a, %a)\n}\n'
    )
    found = _count(
      '%p = f32[4]{0} parameter(0)',
      '%f = f32[4]{0} fusion(%p), kind=kOutput, calls=%fused',
      others=others,
    )
    # What is inside of the fusion stays in the core.
    self.assertEqual(found, {_PRODUCTS: 32})

  def test_of_a_table_only_the_found_rows_are_read(self):
    found = _count(
      '%table = f32[1000,2]{1,0} parameter(0)',
      '%rows = s32[3]{0} parameter(1)',
      '%g = f32[3,2]{1,0} gather(%table, %rows)',
    )
    # 24 of the table, 12 of row numbers, 24 written.
    self.assertEqual(found, {_OTHERS: 60})

  @parameterized.parameters(
    'branch_computations={%small, %large}',
    'true_computation=%large, false_computation=%small',
  )
  def test_a_loop_counts_its_trips_and_a_branch_its_largest(self, branches):
    others = '\n'.join(
      f'%{name} (a: f32[{size}]) -> f32[{size}] {{\n'
      f'  %a = f32[{size}]{{0}} parameter(0)\n'
      f'  ROOT %n = f32[{size}]{{0}} negate(%a)\n}}\n'
      for name, size in (('small', 1), ('large', 10))
    )
    found = _count(
      '%p = f32[1]{0} parameter(0)',
      '%w = f32[1]{0} while(%p), condition=%c, body=%small, '
      'backend_config={"known_trip_count":{"n":"5"}}',
      f'%x = f32[1]{{0}} conditional(%p, %p), {branches}',
      others=others,
    )
    # 5 times 8, and 80.
    self.assertEqual(found, {_OTHERS: 120})

  def test_a_loop_without_a_known_number_counts_to_its_constant(self):
    others = (
      '%is_open (a: s32[]) -> pred[] {\n'
      '  %a = s32[]{:S(2)} parameter(0)\n  %end = s32[]{:S(2)} constant(7)\n'
      '  ROOT %c = pred[]{:S(2)} compare(%a, %end), direction=LT\n}\n'
      '%body (a: f32[1]) -> f32[1] {\n  %a = f32[1]{0} parameter(0)\n'
      '  ROOT %n = f32[1]{0} negate(%a)\n}\n'
    )
    found = _count(
      '%p = f32[1]{0} parameter(0)',
      '%w = f32[1]{0} while(%p), condition=%is_open, body=%body',
      others=others,
    )
    self.assertEqual(found, {_OTHERS: 7 * 8})


if __name__ == '__main__':
  absltest.main()
