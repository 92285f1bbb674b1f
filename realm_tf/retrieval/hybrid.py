"""Adds the scores of BM25 to those of embeddings.

  question -> embeddings' best blocks, BM25's best blocks -> [this file] -> both

Names and numbers that training never showed are words that BM25 knows and an
embedding blurs. f(x,z) = Embed_input(x) . Embed_doc(z) + weight BM25(x,z); what
only one of the two has found counts for the other as its last one does.
"""

from collections.abc import Sequence

import numpy as np

from realm_tf.index import searcher
from realm_tf.retrieval import bm25


class Hybrid:
  """Adds BM25's scores, times `weight`, to those of embeddings."""

  def __init__(self, sparse: bm25.Bm25Retriever, weight: float):
    self._sparse, self._weight = sparse, weight

  def add(
    self, questions: Sequence[str], dense: searcher.Neighbors, k: int
  ) -> searcher.Neighbors:
    """Returns the `k` best of `dense`, [B, n], and of the n best by BM25."""
    depth = dense.block_ids.shape[1]
    sparse = self._sparse.retrieve_texts(questions, depth)
    return fuse(dense, sparse, self._weight, k)


def fuse(
  one: searcher.Neighbors, two: searcher.Neighbors, weight: float, k: int
) -> searcher.Neighbors:
  """Returns the `k` best of what two retrievers have found.

  Args:
    one: [B, n]; every row finds something.
    two: [B, m]; every row finds something.
    weight: Factor of the scores of `two`.
    k: Blocks per question.

  Returns:
    [B, k], with sums of scores; -1 and -inf where both together have fewer.
  """
  same = one.block_ids[:, :, None] == two.block_ids[:, None, :]  # [B, n, m]
  same &= one.block_ids[:, :, None] >= 0
  of_one = one.scores + weight * _of_other(same, two.scores)
  of_two = weight * two.scores + _of_other(same.swapaxes(1, 2), one.scores)
  of_two[same.any(axis=1)] = -np.inf  # It stands among those of `one`.
  ids = np.concatenate([one.block_ids, two.block_ids], axis=1)
  scores = np.concatenate([of_one, of_two], axis=1)
  scores[ids < 0] = -np.inf
  best = np.argsort(-scores, axis=1, kind='stable')[:, :k]
  found = (np.take_along_axis(x, best, axis=1) for x in (ids, scores))
  return searcher.fill(searcher.mark_missing(*found), k)


def _of_other(same, scores):
  """Returns the other's score of each block, or its lowest, [B, n]."""
  lowest = np.min(
    scores, axis=1, where=np.isfinite(scores), initial=np.inf, keepdims=True
  )
  lowest = np.where(np.isfinite(lowest), lowest, 0.0)
  place = same.argmax(axis=2)
  found = np.take_along_axis(scores, place, axis=1)
  return np.where(same.any(axis=2), found, lowest)
