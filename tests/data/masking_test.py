"""Tests for realm_tf.data.masking."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.data import masking
from realm_tf.data import query_table
from tests import tiny

_MASK = 4


class ChooseTest(parameterized.TestCase):
  def test_random_span_is_contiguous_and_geometric(self):
    rng = np.random.default_rng(0)
    widths = []
    for _ in range(2000):
      positions = masking.mask_random_span(50, rng, 10)
      self.assertEqual(
        positions.tolist(), list(range(positions[0], positions[-1] + 1))
      )
      self.assertBetween(positions[-1], 0, 49)
      widths.append(len(positions))
    # P(width = 1) = 0.2; P(width = 10) = 0.8^9 = 0.134, as 10 is the bound.
    self.assertAlmostEqual(np.mean(np.equal(widths, 1)), 0.2, delta=0.04)
    self.assertAlmostEqual(np.mean(np.equal(widths, 10)), 0.134, delta=0.04)
    self.assertEqual(max(widths), 10)

  @parameterized.parameters((40, 10, 6), (2, 10, 1), (40, 3, 3), (0, 10, 0))
  def test_random_token_masks_15_percent(self, length, max_masked, expected):
    positions = masking.mask_random_token(
      length, np.random.default_rng(0), max_masked
    )
    self.assertLen(set(positions), expected)


class MaskBatchTest(parameterized.TestCase):
  def _table(self, *queries):
    directory = self.create_tempdir().full_path
    return query_table.QueryTable.open(
      tiny.write_queries(
        directory, [tiny.query(*each) for each in queries], 'random_span'
      )
    )

  def _mask(self, table, rows, length, max_masked=2, kind='salient', seed=0):
    return masking.mask_batch(
      table,
      np.array(rows),
      masking.Masking(kind, length, max_masked, _MASK),
      np.random.default_rng([seed, 1]),
    )

  def test_salient_masks_one_whole_span_uniformly(self):
    spans = [[0, 2], [5, 8], [0, 9]]
    table = self._table((np.arange(10, 20), spans, -1), (range(9), [], -1))
    batch = self._mask(table, [0] * 200 + [1], length=20, max_masked=3)
    chosen = [tuple(ids[ids > 0]) for ids in batch['gold_ids'][:200]]
    # The span of 9 tokens is longer than 3.
    self.assertEqual(set(chosen), {(10, 11), (15, 16, 17)})
    self.assertBetween(chosen.count((10, 11)), 70, 130)  # 100 +- 4 sigma.
    self.assertFalse(batch['token_mask'][200].any())  # It has no span.

  def test_masks_and_pads(self):
    table = self._table(([11, 12, 13], [[1, 3]], 5), ([21, 22], [[0, 1]], -1))
    batch = self._mask(table, [1, 0], length=4)
    np.testing.assert_array_equal(
      batch['query_ids'], [[_MASK, 22, 0, 0], [11, _MASK, _MASK, 0]]
    )
    np.testing.assert_array_equal(batch['masked_positions'], [[0, 0], [1, 2]])
    np.testing.assert_array_equal(batch['gold_ids'], [[21, 0], [12, 13]])
    np.testing.assert_array_equal(batch['token_mask'], [[1, 0], [1, 1]])
    np.testing.assert_array_equal(batch['own_block'], [-1, 5])
    dtypes = dict.fromkeys(batch, np.int32)
    dtypes |= {'token_mask': np.float32, 'own_block': np.int64}
    self.assertEqual({k: array.dtype for k, array in batch.items()}, dtypes)
    self.assertLen(batch, 5)

  @parameterized.named_parameters(
    ('at_the_start', [0, 2], [_MASK, _MASK, 12, 13]),
    ('ends_at_the_cut', [2, 4], [10, 11, _MASK, _MASK]),
    # Middle 6, so the window is [6 - 2, 6 + 2).
    ('in_the_middle', [5, 7], [14, _MASK, _MASK, 17]),
    ('at_the_end', [8, 10], [16, 17, _MASK, _MASK]),
  )
  def test_window_of_a_long_query_keeps_the_span(self, span, expected):
    table = self._table((np.arange(10, 20), [span], -1))
    batch = self._mask(table, [0], length=4)
    self.assertEqual(batch['query_ids'][0].tolist(), expected)
    gold = [10 + span[0], 11 + span[0]]
    self.assertEqual(batch['gold_ids'][0].tolist(), gold)

  @parameterized.parameters('salient', 'random_span', 'random_token')
  def test_unmasking_gives_the_query_back(self, kind):
    table = self._table(*[(np.arange(10, 30), [[3, 5], [9, 10]], -1)] * 8)
    batch = self._mask(table, np.arange(8), length=20, max_masked=5, kind=kind)
    restored = batch['query_ids'].copy()
    for i in range(8):
      count = int(batch['token_mask'][i].sum())
      self.assertEqual(np.sum(restored[i] == _MASK), count)
      places = batch['masked_positions'][i, :count]
      restored[i, places] = batch['gold_ids'][i, :count]
    np.testing.assert_array_equal(restored, [np.arange(10, 30)] * 8)

  def test_query_without_a_fitting_span_masks_nothing(self):
    batch = self._mask(self._table((range(10, 14), [[0, 3]], -1)), [0], 4)
    self.assertEqual(batch['query_ids'][0].tolist(), [10, 11, 12, 13])
    self.assertEqual(batch['token_mask'][0].tolist(), [0, 0])


if __name__ == '__main__':
  absltest.main()
