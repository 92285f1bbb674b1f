"""Tests for realm_tf.planning.product_flops."""

from absl.testing import absltest

from realm_tf.planning import compiled_module
from realm_tf.planning import product_flops


def _count(*lines, others=''):
  body = '\n'.join(f'  {line}' for line in lines)
  text = f'{others}\nENTRY %all (p: f32[1]) -> f32[1] {{\n{body}\n}}\n'
  return product_flops.count(*compiled_module.parse(text))


class ProductFlopsTest(absltest.TestCase):
  def test_a_matrix_product_has_two_for_each_pair(self):
    found = _count(
      '%a = bf16[4,128,256]{2,1,0} parameter(0)',
      '%b = bf16[256,512]{1,0} parameter(1)',
      '%c = bf16[4,128,512]{2,1,0} convolution(%a, %b), window={size=1}, '
      'dim_labels=0bf_io0->0bf',
    )
    self.assertEqual(found, 2 * 4 * 128 * 256 * 512)

  def test_a_contracted_axis_may_be_a_window(self):
    found = _count(
      '%a = bf16[4,128,256]{2,1,0} parameter(0)',
      '%b = bf16[4,128,512]{2,1,0} parameter(1)',
      '%c = bf16[256,512,1]{1,0,2} convolution(%a, %b), window={size=4}, '
      'dim_labels=0fb_0io->bf0',
    )
    self.assertEqual(found, 2 * 4 * 128 * 256 * 512)

  def test_a_batch_of_products_does_not_count_the_padding(self):
    # 4 * 12 products of [128, 64] and [64, 256], as libtpu writes them.
    found = _count(
      '%a = bf16[4,12,128,64]{3,2,1,0} parameter(0)',
      '%b = bf16[4,12,256,64]{3,2,1,0} parameter(1)',
      '%c = bf16[4,12,128,256]{3,2,1,0} convolution(%a, %b), window={size=4x12 '
      'stride=3x11 lhs_dilate=4x12}, dim_labels=01bf_01oi->01bf',
    )
    self.assertEqual(found, 2 * 4 * 12 * 128 * 64 * 256)

  def test_a_dot_has_its_contracted_axes(self):
    found = _count(
      '%a = f32[3,5,7]{2,1,0} parameter(0)',
      '%b = f32[5,7,2]{2,1,0} parameter(1)',
      '%c = f32[3,2]{1,0} dot(%a, %b), lhs_contracting_dims={1,2}, '
      'rhs_contracting_dims={0,1}',
    )
    self.assertEqual(found, 2 * 3 * 2 * 35)

  def test_a_loop_counts_the_products_of_its_fusions_in_each_turn(self):
    others = (
      '%fused (a: f32[4,4]) -> f32[4,4] {\n'
      '  %a = f32[4,4]{1,0} parameter(0)\n'
      '  ROOT %c = f32[4,4]{1,0} convolution(%a, %a), dim_labels=bf_io->bf\n}\n'
      '%body (a: f32[4,4]) -> f32[4,4] {\n'
      '  %a = f32[4,4]{1,0} parameter(0)\n'
      '  ROOT %f = f32[4,4]{1,0} fusion(%a), kind=kOutput, calls=%fused\n}\n'
    )
    found = _count(
      '%p = f32[4,4]{1,0} parameter(0)',
      '%w = f32[4,4]{1,0} while(%p), condition=%is_open, body=%body, '
      'backend_config={"known_trip_count":{"n":"5"}}',
      others=others,
    )
    self.assertEqual(found, 5 * 2 * 4**3)


if __name__ == '__main__':
  absltest.main()
