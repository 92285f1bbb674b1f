"""Tests for realm_tf.retrieval.hybrid."""

from absl.testing import absltest
import numpy as np

from realm_tf import interfaces
from realm_tf.retrieval import retriever
from tests import fakes

_NONE = -np.inf


def _found(ids, scores):
  return interfaces.Neighbors(np.array(ids, np.int32), np.array(scores, float))


class HybridTest(absltest.TestCase):
  def _assert_found(self, actual, ids, scores):
    self.assertEqual(actual.block_ids.tolist(), ids)
    np.testing.assert_allclose(actual.scores, scores, rtol=1e-6)

  def test_adds_the_scores_of_both(self):
    # Block 7: 3 + 0.5 * 8. Block 4: 5 + 0.5 * 2, the lowest score of BM25.
    # Block 9: 3 + 0.5 * 2, with the lowest score of the embeddings.
    # Block 7 of the second question: 4 + 0.5 * 6; it has no block 4.
    actual = retriever.fuse(
      _found([[4, 7], [7, 2]], [[5, 3], [4, 1]]),
      _found([[7, 9], [9, 7]], [[8, 2], [9, 6]]),
      0.5,
      3,
    )
    self._assert_found(
      actual, [[7, 4, 9], [7, 9, 2]], [[7.0, 6.0, 4.0], [7.0, 5.5, 4.0]]
    )

  def test_a_corpus_with_fewer_than_k_blocks(self):
    dense = _found([[1, 0, -1]], [[2, 1, _NONE]])
    sparse = _found([[0, 1, -1]], [[4, 2, _NONE]])
    actual = retriever.fuse(dense, sparse, 1.0, 8)
    self._assert_found(actual, [[0, 1] + [-1] * 6], [[5.0, 4.0] + [_NONE] * 6])

  def test_sums_of_some_hundred_blocks_are_exact(self):
    dense, sparse = np.random.RandomState(0).standard_normal([2, 400])
    sums = dense + 0.7 * sparse
    one, two = (
      fakes.FakeRetriever(np.argsort(-x), -np.sort(-x)) for x in (dense, sparse)
    )
    both = retriever.Hybrid(one, two, weight=0.7)
    found = both.retrieve(retriever.of_texts(['x']), 9)
    best = np.argsort(-sums)[:9]
    self._assert_found(found, [best.tolist()], [sums[best].tolist()])

  def test_alternates(self):
    one = fakes.FakeRetriever([4, 7, 9], [3.0, 2.0, 1.0])
    two = fakes.FakeRetriever([7], [8.0])
    found = retriever.Alternating(one, two).retrieve(
      retriever.of_texts('ab'), 2
    )
    self._assert_found(found, [[4, 7, 7, -1]] * 2, [[3, 8, 2, _NONE]] * 2)


if __name__ == '__main__':
  absltest.main()
