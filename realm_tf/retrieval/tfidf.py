"""TF-IDF over hashed words and pairs of words, as in DrQA.

Chen et al. 2017, Section 3.1 (https://arxiv.org/abs/1704.00051): unigrams and
bigrams are hashed to 2^24 columns. The weight of a column that occurs tf times
in a text and in n of the N blocks is

  log(1 + tf) * max(0, log((N - n + 1/2) / (n + 1/2)))

A block's score is its inner product with the question.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.index import exact_search
from realm_tf.index import searcher

_NUM_COLUMNS = 2**24
_CHUNK = 64  # Questions per product, which has N scores for each.


class TfidfRetriever:
  """Ranks blocks by the words and pairs of words that a question shares."""

  def __init__(self, titles: Sequence[str], texts: Sequence[str]):
    # The import takes a second, which other jobs need not wait for.
    from sklearn.feature_extraction import text as features  # pylint: disable=g-import-not-at-top

    self._hashing = features.HashingVectorizer(
      ngram_range=(1, 2),
      n_features=_NUM_COLUMNS,
      stop_words='english',
      alternate_sign=False,
      norm=None,
      dtype=np.float32,
    )
    counts = self._hashing.transform(
      f'{title} {text}' for title, text in zip(titles, texts, strict=True)
    )
    number = np.bincount(counts.indices, minlength=_NUM_COLUMNS)
    odds = (len(texts) - number + 0.5) / (number + 0.5)
    self._idf = np.log(np.maximum(odds, 1)).astype(np.float32)
    self._columns = self._weighted(counts).T.tocsr()

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    """Returns the `k` best blocks that have any of a query's words."""
    found = [
      self._best(queries.texts[start : start + _CHUNK], k)
      for start in range(0, len(queries), _CHUNK)
    ]
    return interfaces.Neighbors(*map(np.concatenate, zip(*found, strict=True)))

  def _best(self, questions: Sequence[str], k: int) -> interfaces.Neighbors:
    weights = self._weighted(self._hashing.transform(questions))
    scores = (weights @ self._columns).toarray()
    scores[scores == 0] = -np.inf
    best = exact_search.largest(scores, k)
    return searcher.fill(searcher.mark_missing(*best), k)

  def _weighted(
    self, counts: scipy.sparse.csr_matrix
  ) -> scipy.sparse.csr_matrix:
    counts.data = np.log1p(counts.data) * self._idf[counts.indices]
    return counts


def over_table(table: block_table.BlockTable) -> TfidfRetriever:
  """Returns a retriever over all blocks of a corpus."""
  ids = range(table.num_blocks)
  return TfidfRetriever(table.titles(ids), table.texts(ids))
