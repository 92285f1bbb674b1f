"""Searches by words, the rivals of learned retrievers: BM25 and TF-IDF.

A block z of |z| words has the word t tf times; n of all N blocks have it.
Lucene's BM25 of a query x:

  score(x,z) = sum_{t in x} idf(t) tf / (tf + k1 (1 - b + b |z| / mean))
  idf(t) = ln(1 + (N - n + 1/2) / (n + 1/2))

DrQA's TF-IDF (Chen et al. 2017, https://arxiv.org/abs/1704.00051, Section 3.1)
hashes words and pairs of words to 2^24 columns. A score is the inner product of
block and question, where a column weighs

  log(1 + tf) * max(0, log((N - n + 1/2) / (n + 1/2)))
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
import logging
import math
from typing import Any

import bm25s
import numpy as np
import scipy.sparse
import Stemmer

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.index import exact_search
from realm_tf.index import searcher
from realm_tf.text import words

_K1, _B = 0.9, 0.4  # Anserini's values, usual for paragraphs.
_NUM_COLUMNS = 2**24  # Of TF-IDF.
_CHUNK = 64  # Questions per product, which has N scores for each.
logging.getLogger('bm25s').setLevel(logging.WARNING)  # It sets DEBUG.


class Bm25Retriever:
  """Ranks blocks by the words that a question shares with title and text.

  Words are lower-cased and stemmed. English stop words are dropped. Scripts
  without spaces have pairs of letters (`text.words`).

  Attributes:
    mean_length: Mean number of words of a block.
  """

  def __init__(self, titles: Sequence[str], texts: Sequence[str]):
    self._num_blocks = len(texts)
    self._index = bm25s.BM25(k1=_K1, b=_B)
    tokens = _tokenize(_joined(titles, texts), return_ids=True)
    if not tokens.vocab:
      raise errors.UserError(
        'BM25 needs blocks with words of two letters or more other than stop '
        f'words. Found none in {len(texts)} blocks. Use another corpus.'
      )
    self._index.index(tokens, show_progress=False)
    self.mean_length = float(np.mean([*map(len, tokens.ids)]))

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    return _best(map(self._scores, _tokenize(queries.texts)), k)

  def score(
    self, questions: Sequence[str], rows: np.ndarray, block_ids: np.ndarray
  ) -> np.ndarray:
    """Returns the scores of pairs of a question and a block, float32 [n].

    `rows`, int [n], are the indices of the pairs' questions, ascending.
    """
    scores = np.zeros(len(rows), np.float32)
    ends = np.searchsorted(rows, np.arange(len(questions) + 1))
    for words_, start, stop in zip(_tokenize(questions), ends, ends[1:]):
      if stop > start:
        scores[start:stop] = self._scores(words_)[block_ids[start:stop]]
    return scores

  def column(self, word: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids of the blocks with a word, and its scores, [n] each."""
    row = self._index.vocab_dict.get(word, -1)
    data, indices, ends = map(
      self._index.scores.__getitem__, ('data', 'indices', 'indptr')
    )
    column = slice(ends[row], ends[row + 1]) if row >= 0 else slice(0)
    return indices[column], data[column]

  def _scores(self, asked: Sequence[str]) -> np.ndarray:
    """Returns the scores of all blocks, float32 [N]."""
    scores = np.zeros(self._num_blocks, np.float32)
    for word in asked:
      ids, added = self.column(word)
      scores[ids] += added
    return scores


class LiveBm25:
  """BM25 over a corpus, and over changed blocks at once.

  N and n are the changed corpus's, and so are all scores, but for the mean
  length, which stays the old corpus's.

  Args:
    build: Builds BM25 over the old corpus, or returns a kept one.
    is_hidden: Whether each of its blocks was changed or removed, bool [N]; the
      owner changes the array.
  """

  def __init__(self, build: Callable[[], Bm25Retriever], is_hidden: np.ndarray):
    self._build, self._is_hidden = build, is_hidden
    self._ids = np.zeros([0], np.int64)  # Changed blocks, ascending.
    # Block, word, tf and |z| of each different word of a changed block. Words
    # are their hashes: of a million words two agree once in 40 million times.
    self._words = np.zeros([4, 0], np.int64)

  def load(self) -> 'LiveBm25':
    """Builds BM25 of the old corpus now; any thread may call it."""
    self._build()
    return self

  def words(
    self, ids: np.ndarray, titles: Sequence[str], texts: Sequence[str]
  ) -> np.ndarray:
    """Returns the words of blocks, for `put`, int64 [4, n]."""
    rows = [
      (block_id, hash(word), number, len(found))
      for block_id, found in zip(
        ids.tolist(), _tokenize(_joined(titles, texts)), strict=True
      )
      for word, number in collections.Counter(found).items()
    ]
    return np.array(rows, np.int64).reshape([-1, 4]).T

  def put(self, ids: np.ndarray, found: np.ndarray) -> None:
    """Adds blocks that are not there; `found` is of `words`."""
    self._ids = np.union1d(self._ids, ids)
    self._words = np.concatenate([self._words, found], axis=1)

  def remove(self, ids: np.ndarray) -> None:
    """Removes the changed blocks among `ids`."""
    kept = ~np.isin(self._words[0], ids)
    if not kept.all():
      self._words = self._words[:, kept]
    self._ids = np.setdiff1d(self._ids, ids)

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    found = _best(map(self._scores, _tokenize(queries.texts)), k)
    is_new = found.block_ids >= len(self._is_hidden)
    rows = found.block_ids[is_new] - len(self._is_hidden)
    found.block_ids[is_new] = self._ids[rows]
    return found

  def _scores(self, asked: Sequence[str]) -> np.ndarray:
    """Returns the scores of the old blocks, and of each of `_ids`, float32."""
    old, num_old = self._build(), len(self._is_hidden)
    scores = np.zeros(num_old + len(self._ids), np.float32)
    number = len(scores) - np.count_nonzero(self._is_hidden)
    ids, words_, counts, lengths = self._words
    for word in asked:
      old_ids, old_scores = old.column(word)
      new = np.flatnonzero(words_ == hash(word))
      hidden = np.count_nonzero(self._is_hidden[old_ids])
      idf = _idf(number, len(old_ids) - hidden + len(new))
      scores[old_ids] += old_scores * (idf / _idf(num_old, len(old_ids)))
      length = 1 - _B + _B * lengths[new] / old.mean_length
      rows = num_old + np.searchsorted(self._ids, ids[new])
      scores[rows] += idf * counts[new] / (counts[new] + _K1 * length)
    scores[:num_old][self._is_hidden] = -np.inf
    return scores


class TfidfRetriever:
  """Ranks blocks by the words and pairs of words that a question shares."""

  def __init__(self, titles: Sequence[str], texts: Sequence[str]):
    # The import takes a second, which other jobs need not wait for.
    from sklearn.feature_extraction import text as features

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
    return _best(self._scores(queries.texts), k)

  def _scores(self, questions: Sequence[str]) -> Iterator[np.ndarray]:
    """Yields the scores of all blocks, float32 [N], for each question."""
    for start in range(0, len(questions), _CHUNK):
      counts = self._hashing.transform(questions[start : start + _CHUNK])
      scores = (self._weighted(counts) @ self._columns).toarray()
      scores[scores == 0] = -np.inf
      yield from scores

  def _weighted(
    self, counts: scipy.sparse.csr_matrix
  ) -> scipy.sparse.csr_matrix:
    counts.data = np.log1p(counts.data) * self._idf[counts.indices]
    return counts


def over_table(table: block_table.BlockTable) -> Bm25Retriever:
  """Returns BM25 over all blocks of a corpus."""
  return Bm25Retriever(*_blocks(table))


def tfidf_over_table(table: block_table.BlockTable) -> TfidfRetriever:
  """Returns TF-IDF over all blocks of a corpus."""
  return TfidfRetriever(*_blocks(table))


def _blocks(table: block_table.BlockTable) -> tuple[list[str], list[str]]:
  ids = range(table.num_blocks)
  return table.titles(ids), table.texts(ids)


def _idf(num_blocks: int, num_with: int) -> float:
  return math.log1p((num_blocks - num_with + 0.5) / (num_with + 0.5))


def _best(scores: Iterable[np.ndarray], k: int) -> interfaces.Neighbors:
  """Returns the `k` best blocks of each question's scores, float32 [N]."""
  found = [
    searcher.fill(
      searcher.mark_missing(*exact_search.largest(each[None], k)), k
    )
    for each in scores
  ]
  joined = map(np.concatenate, zip(searcher.nothing(0, k), *found))
  return interfaces.Neighbors(*joined)


def _joined(titles: Sequence[str], texts: Sequence[str]) -> list[str]:
  return [f'{title} {text}' for title, text in zip(titles, texts, strict=True)]


def _tokenize(texts: Sequence[str], return_ids: bool = False) -> Any:
  return bm25s.tokenize(
    list(map(words.spaced_pairs, texts)),
    token_pattern=r'\S{2,}',
    stopwords='en',
    stemmer=Stemmer.Stemmer('english'),  # One for each thread.
    return_ids=return_ids,
    show_progress=False,
  )
