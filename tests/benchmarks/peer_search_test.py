"""Tests for benchmarks.peer_search, which sets what we are measured beside."""

from absl.testing import absltest
import numpy as np

from benchmarks import clustered_vectors
from benchmarks import peer_search

_EXPECTED = np.arange(8)[None].repeat(4, axis=0)


def _finds(count):
  """Returns a search that finds `count` of the 8 expected."""
  found = np.where(np.arange(8) < count, np.arange(8), -1)

  def search(queries, k):
    return found[None, :k].repeat(len(queries), axis=0)

  return search


class PeerSearchTest(absltest.TestCase):
  def test_recall_is_the_share_found(self):
    found = np.array([[1, 2], [3, 9]])
    self.assertEqual(
      peer_search.recall(found, np.array([[2, 1], [4, 3]])), 0.75
    )

  def test_takes_the_first_setting_of_a_row_that_reaches_the_recall(self):
    rows = [[_finds(6), _finds(8), _finds(7)], [_finds(7)]]
    recall, search = peer_search._tune(rows, np.zeros([4, 2]), _EXPECTED)
    self.assertEqual(recall, 1.0)
    self.assertIs(search, rows[0][1])

  def test_a_peer_that_misses_too_much_is_not_compared_with(self):
    with self.assertRaisesRegex(SystemExit, '0.95'):
      peer_search._tune([[_finds(7)]], np.zeros([4, 2]), _EXPECTED)

  def test_counts_queries_of_whole_batches(self):
    sizes = []

    def search(queries, k):
      sizes.append(len(queries))
      self.assertEqual(k, peer_search.TOP)

    peer_search.queries_per_second(search, np.zeros([10, 2]), 4, 0.0)
    self.assertEqual(sizes, [4, 4])  # The first is not timed.


class ClusteredVectorsTest(absltest.TestCase):
  def test_vectors_are_the_same_each_time_and_in_clusters(self):
    arrays = []
    for _ in range(2):
      path = self.create_tempdir().full_path
      clustered_vectors.write(path, 400, 50)
      arrays.append(
        {
          name: np.array(clustered_vectors.read(path, name))
          for name in ('blocks', 'queries', 'tuning_queries')
        }
      )
    for name, array in arrays[0].items():
      np.testing.assert_array_equal(array, arrays[1][name])
    blocks, queries = arrays[0]['blocks'], arrays[0]['queries']
    self.assertEqual(blocks.shape, (400, 128))
    self.assertFalse(np.array_equal(queries, arrays[0]['tuning_queries']))
    # Squared distances: 2 * 128 * 0.49 in a cluster, 2 * 128 * 1.49 between.
    nearest = ((queries[:, None] - blocks) ** 2).sum(axis=2).min(axis=1)
    self.assertLess(nearest.max(), 2 * 128)


if __name__ == '__main__':
  absltest.main()
