"""Tests for realm_tf.training.gradients, on one replica."""

import tensorflow as tf

from realm_tf.training import gradients


def _variables(*names):
  return [tf.Variable(tf.zeros([2]), name=name) for name in names]


class GradientsTest(tf.test.TestCase):
  def test_the_sum_is_dense_and_none_stays_none(self):
    # Row 1 occurs twice: as slices its norm would be sqrt(3^2 + 1^2), not 4.
    slices = tf.IndexedSlices(
      tf.constant([[3.0], [1.0]]), tf.constant([1, 1]), tf.constant([3, 1])
    )
    first, second, third = gradients.sum_over_replicas(
      [slices, None, tf.constant([5.0])]
    )
    self.assertAllEqual(first, [[0.0], [4.0], [0.0]])
    self.assertIsNone(second)
    self.assertAllEqual(third, [5.0])

  def test_norms_of_all_and_of_each_tower(self):
    variables = _variables(
      'query_bert/a', 'block_bert/a', 'query_embedder/b', 'masked_lm/c', 'r'
    )
    values = [[3.0, 0.0], [12.0, 0.0], [0.0, 4.0], [0.0, 84.0], None]
    norms = gradients.norms(
      [None if each is None else tf.constant(each) for each in values],
      variables,
    )
    # 3, 4 -> 5; 5, 12 -> 13; 13, 84 -> 85.
    expected = {'': 85.0, '/query': 5.0, '/block': 12.0, '/reader': 84.0}
    self.assertAllClose(
      norms, {f'gradient_norm{key}': value for key, value in expected.items()}
    )

  def test_a_single_tower_has_no_norm_of_its_own(self):
    for gradient, norm in ((tf.constant([3.0, 4.0]), 5.0), (None, 0.0)):
      norms = gradients.norms([gradient], _variables('shared_a'))
      self.assertAllClose(norms, {'gradient_norm': norm})

  def test_clips_only_a_norm_above_the_limit(self):
    given = [tf.constant([3.0]), None, tf.constant([4.0])]
    norm = tf.constant(5.0)
    for limit, expected in ((2.5, (1.5, 2.0)), (6.0, (3, 4)), (0, (3, 4))):
      first, second, third = gradients.clip(given, norm, limit)
      self.assertAllClose((first, third), ([expected[0]], [expected[1]]))
      self.assertIsNone(second)

  def test_clipping_keeps_the_type(self):
    (clipped,) = gradients.clip(
      [tf.constant([4.0], tf.bfloat16)], tf.constant(4.0), 1.0
    )
    self.assertEqual(clipped.dtype, tf.bfloat16)
    self.assertAllClose(tf.cast(clipped, tf.float32), [1.0])


if __name__ == '__main__':
  tf.test.main()
