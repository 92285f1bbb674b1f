"""Tests for realm_tf.tpu.compiled_module, with numbers made by hand."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.tpu import compiled_module

_COPIES, _OTHERS = compiled_module.COPIES, compiled_module.OTHERS
# Of 10 turns, one's 4 floats.
_ALL, _ONE = 'f32[10,4]{1,0}', 'f32[1,4]{1,0}'


def _computation(name, *lines):
  body = '\n'.join(f'  {line}' for line in lines)
  return f'{name} (p: f32[4]) -> f32[4] {{\n{body}\n}}\n'


# A fused product, and the end of a loop of 5 turns.
_PRODUCT = _computation(
  '%fused',
  '%a = f32[4,4]{1,0} parameter(0)',
  'ROOT %c = f32[4,4]{1,0} convolution(%a, %a), dim_labels=bf_io->bf',
)
_END = _computation(
  '%is_open',
  '%a = s32[]{:S(2)} parameter(0)',
  '%end = s32[]{:S(2)} constant(5)',
  'ROOT %c = pred[]{:S(2)} compare(%a, %end), direction=LT',
)


def _counts(*lines, others=''):
  text = f'HloModule m\n\n{others}\n{_computation("ENTRY %main", *lines)}'
  return compiled_module.counts(text)


def _traffic(*lines, others=''):
  counts = _counts(*lines, others=others)
  return {
    kind: counts[kind] for kind in compiled_module.TRAFFIC if counts[kind]
  }


class TrafficTest(parameterized.TestCase):
  def test_operands_are_read_and_results_written(self):
    # Reads 40 and 4 bytes, and writes 40; a parameter moves nothing.
    found = _traffic(
      '%p = f32[10]{0} parameter(0)',
      '%q = f32[] parameter(1)',
      'ROOT %r = f32[10]{0} add(%p, %q), metadata={op_name="x(%q)"}',
    )
    self.assertEqual(found, {_OTHERS: 84})

  def test_fast_memory_is_no_traffic(self):
    # Only the 40 bytes of %p are in HBM.
    found = _traffic(
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
    self.assertEqual(_traffic(f'%a = {result} iota()'), {_OTHERS: size})

  def test_sums_over_cores_count_their_arrays_wherever_they_are(self):
    found = _counts(
      '%p = f32[10]{0} parameter(0)',
      '%q = bf16[3]{0:T(128)S(1)} negate(%p)',
      '%r = (f32[10]{0}, bf16[3]{0:T(128)S(1)}) all-reduce(%p, %q)',
    )
    # Reads %p twice and writes 40; sums 40 + 128 * 2.
    self.assertEqual(found[_OTHERS], 120)
    self.assertEqual(found[compiled_module.SUMS], 296)

  def test_a_copy_to_fast_memory_is_read_once(self):
    found = _traffic(
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
    found = _traffic(
      f'%a = f32[10]{{0}} custom-call(), {target}"AllocateBuffer"',
      f'%b = f32[20]{{0}} custom-call(%a, %a), {target}"ConcatBitcast"',
      f'%c = f32[10]{{0}} custom-call(%a), {target}"TopK"',
    )
    self.assertEqual(found, {_OTHERS: 80})

  def test_an_asynchronous_instruction_is_the_one_it_calls(self):
    others = _computation(
      '%part',
      '%a = f32[9]{0} parameter(0)',
      'ROOT %s = f32[4]{0:S(1)} slice(%a)',
    )
    found = _traffic(
      '%p = f32[9]{0} parameter(0)',
      '%x = ((f32[9]{0}), f32[4]{0:S(1)}) async-start(%p), calls=%part',
      '%y = ((f32[9]{0}), f32[4]{0:S(1)}) async-update(%x)',
      '%z = f32[4]{0:S(1)} async-done(%y)',
      others=others,
    )
    self.assertEqual(found, {_COPIES: 16})

  def test_a_fusion_with_a_product_is_a_product(self):
    found = _traffic(
      '%p = f32[4,4]{1,0} parameter(0)',
      '%f = f32[4,4]{1,0} fusion(%p), kind=kOutput, calls=%fused',
      others=_PRODUCT,
    )
    # What is inside of the fusion stays in the core.
    self.assertEqual(found, {compiled_module.PRODUCTS: 128})

  @parameterized.parameters(
    # 24 of the table, 12 of row numbers, 24 written.
    (
      60,
      '%table = f32[1000,2]{1,0} parameter(0)',
      '%rows = s32[3]{0} parameter(1)',
      '%g = f32[3,2]{1,0} gather(%table, %rows)',
    ),
    (
      16 + 16,
      f'%all = {_ALL} parameter(0)',
      '%i = s32[]{:S(2)} parameter(1)',
      f'%one = {_ONE} dynamic-slice(%all, %i)',
    ),
    (
      16 + 16,
      f'%all = {_ALL} parameter(0)',
      f'%one = {_ONE} parameter(1)',
      '%i = s32[]{:S(2)} parameter(2)',
      f'%new = {_ALL} dynamic-update-slice(%all, %one, %i)',
    ),
  )
  def test_only_the_found_parts_are_read_and_written(self, size, *lines):
    self.assertEqual(sum(_traffic(*lines).values()), size)

  @parameterized.parameters(
    # A turn reads a slice, and writes one in place.
    (
      16 + 16,
      _ALL,
      f'%flat = {_ALL} bitcast(%from)',
      f'%one = {_ONE} dynamic-slice(%flat, %i)',
      f'%change = {_ONE} negate(%one)',
      f'ROOT %new = {_ALL} dynamic-update-slice(%into, %change, %i)',
    ),
    # An array that is also read whole; both results are written.
    (
      160 + 16 + 160,
      f'({_ONE}, {_ALL})',
      f'%one = {_ONE} dynamic-slice(%from, %i)',
      f'%twice = {_ALL} add(%from, %from)',
      f'ROOT %both = ({_ONE}, {_ALL}) tuple(%one, %twice)',
    ),
    # An array that is only reshaped.
    (160 + 160, 'f32[40]{0}', 'ROOT %flat = f32[40]{0} bitcast(%from)'),
  )
  def test_a_fusion_touches_the_same_parts(self, size, result, *inner):
    others = _computation(
      '%fused',
      f'%into = {_ALL} parameter(0)',
      f'%from = {_ALL} parameter(1)',
      '%i = s32[] parameter(2)',
      *inner,
    )
    found = _traffic(
      f'%a = {_ALL} parameter(0)',
      f'%b = {_ALL} parameter(1)',
      '%i = s32[]{:S(2)} parameter(2)',
      f'%f = {result} fusion(%a, %b, %i), kind=kLoop, calls=%fused',
      others=others,
    )
    self.assertEqual(sum(found.values()), size)

  @parameterized.parameters(
    'branch_computations={%small, %large}',
    'true_computation=%large, false_computation=%small',
  )
  def test_a_loop_counts_its_turns_and_a_branch_its_largest(self, branches):
    others = _END + ''.join(
      _computation(
        f'%{name}',
        f'%a = f32[{size}]{{0}} parameter(0)',
        f'ROOT %n = f32[{size}]{{0}} negate(%a)',
      )
      for name, size in (('small', 1), ('large', 10))
    )
    found = _traffic(
      '%p = f32[1]{0} parameter(0)',
      '%w = f32[1]{0} while(%p), condition=%is_open, body=%small',
      f'%x = f32[1]{{0}} conditional(%p, %p), {branches}',
      others=others,
    )
    # 5 times 8, and 80.
    self.assertEqual(found, {_OTHERS: 120})


class FlopsTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      2 * 4 * 128 * 256 * 512,
      'bf16[4,128,256]',
      'bf16[256,512]',
      'bf16[4,128,512] convolution(%a, %b), window={size=1}, '
      'dim_labels=0bf_io0->0bf',
    ),
    # A contracted axis may be a window.
    (
      2 * 4 * 128 * 256 * 512,
      'bf16[4,128,256]',
      'bf16[4,128,512]',
      'bf16[256,512,1] convolution(%a, %b), window={size=4}, '
      'dim_labels=0fb_0io->bf0',
    ),
    # 4 * 12 products of [128, 64] and [64, 256], as libtpu writes them: the
    # padding does not count.
    (
      2 * 4 * 12 * 128 * 64 * 256,
      'bf16[4,12,128,64]',
      'bf16[4,12,256,64]',
      'bf16[4,12,128,256] convolution(%a, %b), window={size=4x12 stride=3x11 '
      'lhs_dilate=4x12}, dim_labels=01bf_01oi->01bf',
    ),
    # 5 places of a window of 3 that is padded by 1: 3 * 5 - 2 pairs.
    (
      2 * 13,
      'f32[1,5,1]',
      'f32[3,1,1]',
      'f32[1,5,1] convolution(%a, %b), window={size=3 pad=1_1}, '
      'dim_labels=b0f_0io->b0f',
    ),
  )
  def test_two_count_for_each_pair_of_a_product(self, flops, left, right, line):
    found = _counts(
      f'%a = {left} parameter(0)', f'%b = {right} parameter(1)', f'%c = {line}'
    )
    self.assertEqual(found[compiled_module.FLOPS], flops)

  def test_a_loop_counts_the_products_of_its_fusions_in_each_turn(self):
    body = _computation(
      '%body',
      '%a = f32[4,4]{1,0} parameter(0)',
      'ROOT %f = f32[4,4]{1,0} fusion(%a), kind=kOutput, calls=%fused',
    )
    found = _counts(
      '%p = f32[4,4]{1,0} parameter(0)',
      '%w = f32[4,4]{1,0} while(%p), condition=%is_open, body=%body',
      others=_END + _PRODUCT + body,
    )
    self.assertEqual(found[compiled_module.FLOPS], 5 * 2 * 4**3)


if __name__ == '__main__':
  absltest.main()
