"""Tests for realm_tf.index.exact_search."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.index import exact_search


def _ties(*shape):
  """Returns small integers: products are exact in float32, with many ties."""
  rng = np.random.default_rng(0)
  return rng.integers(-2, 3, shape).astype(np.float32)


def _slow(embeddings, query, k):
  """Returns [(block, score)] by sorting pairs in plain Python."""
  scores = [(-float(query @ block), i) for i, block in enumerate(embeddings)]
  return [(i, -score) for score, i in sorted(scores)[:k]]


class BruteForceSearcherTest(parameterized.TestCase):
  # With chunks of 7 blocks, the last chunk is shorter than k; there are up to
  # 299 of 300 blocks, and more than there are.
  @parameterized.product(chunk=(1, 7, 300), k=(1, 5, 299, 400))
  def test_agrees_with_sorting_pairs_of_score_and_id(self, chunk, k):
    embeddings, queries = _ties(300, 3), _ties(6, 3)
    with mock.patch.object(exact_search, '_CHUNK_BLOCKS', chunk):
      found = exact_search.BruteForceSearcher(embeddings).search(queries, k)
    self.assertEqual(found.block_ids.dtype, np.int32)
    self.assertEqual(found.scores.dtype, np.float32)
    for query, *row in zip(queries, *found):
      self.assertEqual([*zip(*row)], _slow(embeddings, query, k))

  # Groups of 32 columns: none, too few for k, and many with a remainder.
  @parameterized.parameters((20, 5), (100, 5), (1000, 5), (1000, 40), (7, 9))
  def test_the_largest_equal_a_full_sort_with_ties_by_column(self, width, k):
    scores = np.random.default_rng(0).integers(0, 9, [8, width]).astype('f')
    columns, values = exact_search.largest(scores, k)
    order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
    np.testing.assert_array_equal(columns, order)
    np.testing.assert_array_equal(
      values, np.take_along_axis(scores, order, axis=1)
    )

  def test_no_number_comes_after_all_numbers(self):
    scores = np.arange(1000, dtype=np.float32).reshape(2, 500)
    scores[0, ::2] = np.nan
    scores[1] = -np.inf
    columns, _ = exact_search.largest(scores, 3)
    np.testing.assert_array_equal(columns, [[499, 497, 495], [0, 1, 2]])

  def test_no_rows_and_no_columns(self):
    for shape in (0, 50), (2, 0):
      columns, values = exact_search.largest(np.zeros(shape, np.float32), 3)
      self.assertEqual(columns.shape, (shape[0], min(3, shape[1])))
      self.assertEqual(values.shape, columns.shape)


class DeviceSearcherTest(parameterized.TestCase):
  # 256 makes chunks of 4 groups: with `k` >= 2 whole chunks are sorted.
  @parameterized.parameters(
    (256, 3, 8), (256, 64, 1), (256, 1000, 1), (256, 1000, 200),
    (256, 2048, 8), (1024, 1000, 3), (1024, 2048, 1), (1024, 2048, 200),
  )  # fmt: skip
  def test_agrees_with_numpy_including_ties(self, chunk, num_blocks, k):
    blocks, queries = _ties(num_blocks, 3), _ties(6, 3)
    searcher = exact_search.DeviceSearcher(blocks)
    fresh = tf.function(exact_search.top_rows)  # Compiled with the patches.
    with (
      mock.patch.object(exact_search, '_compiled', fresh),
      mock.patch.object(exact_search, '_MAX_CHUNK_ROWS', chunk),
      mock.patch.object(exact_search, '_MAX_QUERIES', 4),
    ):
      found = searcher.search(queries, k)
    expected = exact_search.BruteForceSearcher(blocks).search(queries, k)
    for actual, same in zip(found, expected):
      np.testing.assert_array_equal(actual, same, strict=True)

  def test_padding_is_not_found_if_all_scores_are_negative(self):
    blocks = -np.ones([70, 2], np.float32)
    found = exact_search.DeviceSearcher(blocks).search(-blocks[:1], 80)
    self.assertEqual(found.block_ids.tolist(), [list(range(70))])
    self.assertEqual(set(found.scores[0].tolist()), {-2.0})

  def test_best_blocks_in_one_group_are_all_found(self):
    blocks = np.zeros([8192, 1], np.float32)
    blocks[640:648, 0] = range(1, 9)
    found = exact_search.DeviceSearcher(blocks).search(
      np.ones([1, 1], np.float32), 8
    )
    self.assertEqual(found.block_ids.tolist(), [list(range(647, 639, -1))])

  def test_bfloat16_blocks_are_scored_in_float32(self):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=[500, 16]).astype(np.float32)
    queries = rng.normal(size=[4, 16]).astype(np.float32)
    rounded = tf.cast(tf.cast(blocks, tf.bfloat16), tf.float32).numpy()
    self.assertGreater(abs(rounded - blocks).max(), 1e-3)
    expected = exact_search.BruteForceSearcher(rounded).search(queries, 5)
    actual = exact_search.DeviceSearcher(blocks, 'bfloat16').search(queries, 5)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_allclose(actual.scores, expected.scores, rtol=1e-5)


if __name__ == '__main__':
  absltest.main()
