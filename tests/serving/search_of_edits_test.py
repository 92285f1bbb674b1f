"""Tests for the search of realm_tf.serving.edited_corpus."""

import tracemalloc
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf.index import exact_search
from realm_tf.index import searcher as searcher_lib
from realm_tf.serving import edited_corpus


class LiveSearchTest(absltest.TestCase):
  def test_agrees_with_exact_search_after_random_changes(self):
    rng = np.random.default_rng(0)
    base = rng.normal(size=[40, 4]).astype(np.float32)
    queries = rng.normal(size=[3, 4]).astype(np.float32)
    index = exact_search.BruteForceSearcher(base)
    search = edited_corpus.LiveSearch(index, 40)
    now = dict(enumerate(base))
    for _ in range(300):
      block_id = int(rng.integers(60))
      if rng.random() < 0.6:
        search.remove(np.array([block_id]))
        now.pop(block_id, None)
      else:
        now[block_id] = rng.normal(size=4).astype(np.float32)
        search.put(np.array([block_id]), now[block_id][None])
      found = search.search(queries, 5)
      ids = np.array(sorted(now))
      scores = queries @ np.array([now[i] for i in ids]).T
      best = np.argsort(-scores, axis=1)[:, :5]
      np.testing.assert_array_equal(found.block_ids, ids[best])

  def test_all_removed(self):
    base = np.eye(3, dtype=np.float32)
    index = exact_search.BruteForceSearcher(base)
    search = edited_corpus.LiveSearch(index, 3)
    search.remove(np.arange(3))
    found = search.search(base, 2)
    np.testing.assert_array_equal(found.block_ids, np.full([3, 2], -1))
    search.restore(np.array([1]))
    found = search.search(base, 2)
    np.testing.assert_array_equal(found.block_ids, [[1, -1]] * 3)

  def test_a_change_copies_no_array_of_the_length_of_the_corpus(self):
    ones = np.ones([2, 4], np.float32)
    index = mock.Mock()
    index.search.return_value = searcher_lib.Neighbors(
      np.array([[7, 8]]), ones[:1, :2]
    )
    search = edited_corpus.LiveSearch(index, 10**6)
    tracemalloc.start()
    self.addCleanup(tracemalloc.stop)
    search.put(np.array([7, 10**6 + 1]), ones)
    search.remove(np.array([5, 10**6 + 1]))
    search.restore(np.array([5]))
    found = search.search(ones[:1], 2)
    self.assertEqual(found.block_ids.tolist(), [[7, 8]])  # Scores 4 and 1.
    _, peak = tracemalloc.get_traced_memory()
    self.assertLess(peak, 10**5)  # One byte for each block is 10**6.


if __name__ == '__main__':
  absltest.main()
