"""Tests for realm_tf.data.sampling; training/batches_test.py shares batches."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.data import cloze_sentences
from realm_tf.data import sampling


class BucketSamplerTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.lengths = np.random.default_rng(0).integers(0, 50, 24)
    self.sampler = sampling.Sampler(24, 2, seed=1)

  def _rows(self, seed):
    sampler = sampling.BucketSampler(self.sampler, self.lengths, 4, seed)
    return [sampler.rows(step).tolist() for step in range(24)]

  def test_sorts_the_rows_of_a_group_by_length(self):
    for group, rows in enumerate(np.split(np.array(self._rows(2)), 6)):
      steps = range(4 * group, 4 * group + 4)
      dealt = np.concatenate([self.sampler.rows(step) for step in steps])
      self.assertCountEqual(rows.ravel(), dealt)
      # The lengths of two batches do not overlap.
      spans = sorted(
        (self.lengths[each].min(), self.lengths[each].max()) for each in rows
      )
      for (_, end), (begin, _) in itertools.pairwise(spans):
        self.assertLessEqual(end, begin)

  def test_the_order_is_random_and_follows_from_the_seed(self):
    self.assertEqual(self._rows(2), self._rows(2))
    self.assertNotEqual(self._rows(2), self._rows(3))
    longest = [
      np.argmax([self.lengths[rows].max() for rows in group])
      for group in np.split(np.array(self._rows(2)), 6)
    ]
    self.assertGreater(len(set(longest)), 1)


class SamplerTest(parameterized.TestCase):
  @parameterized.parameters((12, 4), (10, 4), (3, 7), (1, 2))
  def test_each_epoch_deals_every_row_once(self, num_rows, batch_size):
    sampler = sampling.Sampler(num_rows, batch_size, seed=3)
    num_steps = -(-3 * num_rows // batch_size)
    batches = [sampler.rows(step) for step in range(num_steps)]
    self.assertEqual({len(batch) for batch in batches}, {batch_size})
    dealt = np.concatenate(batches)[: 3 * num_rows].reshape(3, num_rows)
    for epoch in dealt:
      self.assertEqual(sorted(epoch), list(range(num_rows)))

  def test_epochs_are_shuffled_differently(self):
    sampler = sampling.Sampler(100, 100, seed=3)
    first, second = sampler.rows(0), sampler.rows(1)
    # A random permutation keeps 1 of its places on average.
    self.assertLess(np.sum(first == np.arange(100)), 8)
    self.assertLess(np.sum(first == second), 8)

  def test_random_numbers_of_a_step_follow_from_seed_and_step(self):
    draw = lambda seed, step: sampling.step_rng(seed, step).random()
    self.assertEqual(draw(1, 2), draw(1, 2))
    self.assertLen({draw(1, 2), draw(2, 1), draw(1, 3), draw(2, 2)}, 4)


def _changed(row, **rate):
  """Returns 200 equal rows with noise, or without some words."""
  return cloze_sentences.change(
    np.array([row] * 200, np.int32),
    np.arange(5, 1000),
    config_lib.InverseClozeConfig(**rate),
    np.random.default_rng(0),
    own=slice(None),
    size=200,
  )


class ChangeTest(absltest.TestCase):
  def test_noise_replaces_the_share_and_keeps_specials_and_padding(self):
    # [CLS] 2, [MASK] 4, 40 times the ordinary 999, padding.
    row = [2, 4] + [999] * 40 + [0] * 8
    noisy = _changed(row, query_noise_rate=0.25)
    changed = noisy != row
    self.assertFalse(changed[:, :2].any())
    self.assertFalse(changed[:, 42:].any())
    # 8000 draws: 0.25 +- 4 sigma of 0.005.
    self.assertAlmostEqual(changed[:, 2:42].mean(), 0.25, delta=0.02)
    self.assertGreaterEqual(noisy[:, 2:42].min(), 5)
    self.assertGreater(len(np.unique(noisy)), 500)  # Many different words.
    self.assertEqual(noisy.dtype, np.int32)
    self.assertTrue((_changed(row, query_noise_rate=0.0) == row).all())

  def test_drops_the_share_and_keeps_the_order(self):
    # [MASK] 4, 40 ordinary wordpieces, padding.
    row = [4, *range(5, 45), *[0] * 9]
    dropped = _changed(row, query_drop_rate=0.25)
    # 8000 draws: 0.75 +- 4 sigma of 0.005.
    self.assertAlmostEqual((dropped >= 5).mean() * 50 / 40, 0.75, delta=0.02)
    self.assertTrue((dropped[:, 0] == 4).all())
    for row in dropped:
      kept = row[row > 0]
      self.assertFalse(row[len(kept) :].any())
      self.assertTrue((np.diff(kept) > 0).all())


class TrimTest(parameterized.TestCase):
  @parameterized.named_parameters(
    # The longest row has 3 wordpieces, rounded up.
    ('to_the_longest', 1, [[1, 2, 3], [4, 0, 0]]),
    ('to_a_multiple', 4, [[1, 2, 3, 0], [4, 0, 0, 0]]),
    ('never_wider_than_before', 8, [[1, 2, 3, 0, 0, 0], [4, 0, 0, 0, 0, 0]]),
  )
  def test_cuts_columns_of_zeros(self, multiple, expected):
    ids = np.array([[1, 2, 3, 0, 0, 0], [4, 0, 0, 0, 0, 0]])
    np.testing.assert_array_equal(sampling.trim(ids, multiple), expected)

  def test_looks_at_every_leading_dimension_and_keeps_one_column(self):
    ids = np.zeros([2, 3, 9], np.int32)
    ids[1, 2, :5] = 7
    np.testing.assert_array_equal(sampling.trim(ids, 2), ids[..., :6])
    self.assertEqual(sampling.trim(np.zeros([2, 9]), 1).shape, (2, 1))


class ShareTest(parameterized.TestCase):
  def test_trims_unless_shapes_are_fixed(self):
    ids = np.array([[1, 2, 3, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    self.assertEqual(sampling.WHOLE.trim(ids, 2).shape, (2, 4))
    fixed = sampling.Share(has_fixed_shapes=True)
    self.assertEqual(fixed.trim(ids, 2).shape, (2, 6))


if __name__ == '__main__':
  absltest.main()
