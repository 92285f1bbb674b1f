"""Tests for realm_tf.retrieval.overlay, against exact search."""

import threading

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.index import brute_force
from realm_tf.retrieval import overlay as overlay_lib

_NUM_BLOCKS, _NUM_QUERIES, _SIZE = 60, 5, 4


class OverlayTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.old_blocks, self.new_blocks = rng.normal(size=[2, _NUM_BLOCKS, _SIZE])
    self.old_queries, self.new_queries = rng.normal(
      size=[2, _NUM_QUERIES, _SIZE]
    )
    self.overlay = overlay_lib.Overlay(_NUM_BLOCKS)
    self.asked_for = []

  def _stale(self, k):
    self.asked_for.append(k)
    return brute_force.BruteForceSearcher(self.old_blocks).search(
      self.old_queries, k
    )

  def _search(self, k):
    return self.overlay.search(self._stale, lambda: self.new_queries, k)

  def _write(self, ids, step=1):
    ids = np.asarray(ids)
    self.overlay.write(ids, self.new_blocks[ids], step)

  def _expected(self, ids, k):
    """Each block by its own pair: of `ids` the fresh, of others the old."""
    scores = self.old_queries @ self.old_blocks.T
    scores[:, ids] = self.new_queries @ self.new_blocks[ids].T
    order = np.argsort(-scores, axis=1)[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)

  def _assert_finds(self, ids, k):
    found = self._search(k)
    expected, scores = self._expected(ids, k)
    np.testing.assert_array_equal(found.block_ids, expected)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-5)

  def test_an_empty_overlay_is_the_index(self):
    self._assert_finds([], 3)
    self.assertEqual(self.asked_for, [3])

  def test_an_overlay_over_everything_is_exact_search_of_now(self):
    self._write(range(_NUM_BLOCKS))
    exact = brute_force.BruteForceSearcher(self.new_blocks).search(
      self.new_queries, 7
    )
    np.testing.assert_array_equal(self._search(7).block_ids, exact.block_ids)

  @parameterized.parameters(1, 3, 20)
  def test_each_block_is_scored_by_one_pair_only(self, k):
    ids = list(range(0, _NUM_BLOCKS, 3))
    self._write(ids)
    self._assert_finds(ids, k)

  def test_looks_further_where_the_best_of_the_index_have_fallen(self):
    best = np.unique(self._stale(10).block_ids)
    self.asked_for.clear()
    self.new_queries = np.abs(self.new_queries)
    self.new_blocks[best] = -100.0
    self._write(best)
    self._assert_finds(best, 2)
    self.assertEqual(self.asked_for[:2], [4, 8])

  def test_more_than_there_are_blocks(self):
    self._write([3, 5])
    found = self._search(_NUM_BLOCKS + 2)
    np.testing.assert_array_equal(
      np.sort(found.block_ids, axis=1),
      np.tile(np.arange(-2, _NUM_BLOCKS).clip(-1), [_NUM_QUERIES, 1]),
    )
    self.assertTrue(np.isneginf(found.scores[:, -2:]).all())

  def test_null_blocks_never_enter(self):
    ids = np.array([[-1, 4], [-1, 9]])
    self.overlay.write(ids, self.new_blocks[ids], 1)
    self._assert_finds([4, 9], _NUM_BLOCKS)
    self.assertLen(self.overlay, 2)

  def test_the_latest_embedding_of_a_block_counts(self):
    self.overlay.write(np.array([4, 9]), np.full([2, _SIZE], 9.0), 1)
    self._search(3)
    self.overlay.write(np.array([9]), np.full([1, _SIZE], 8.0), 2)
    self._write([4, 9], 3)
    self._assert_finds([4, 9], _NUM_BLOCKS)

  def test_the_oldest_make_room(self):
    self.overlay = overlay_lib.Overlay(3)
    self._write([0, 1, 2], 1)
    self._write([0], 2)
    self._write([7], 3)
    self._search(3)
    self.assertLen(self.overlay, 3)
    self._write([8], 4)
    self._assert_finds([0, 7, 8], _NUM_BLOCKS)

  def test_a_newer_index_replaces_what_is_older(self):
    self._write([0, 1], 499)
    self._write([1, 2], 500)
    self.overlay.drop_older(500)
    self._assert_finds([1, 2], _NUM_BLOCKS)

  def test_writing_waits_for_no_search(self):
    self._write([0])

    def stale(k):
      # From another thread, in the middle of a search.
      writer = threading.Thread(target=self._write, args=([1],))
      writer.start()
      writer.join(timeout=10)
      self.assertFalse(writer.is_alive())
      return self._stale(k)

    self.overlay.search(stale, lambda: self.new_queries, 3)
    self._assert_finds([0, 1], _NUM_BLOCKS)


if __name__ == '__main__':
  absltest.main()
