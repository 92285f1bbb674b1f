"""BM25, the baseline of learned retrievers: a search by words."""

from collections.abc import Sequence
import logging
from typing import Any

import bm25s
import numpy as np
import Stemmer

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.index import exact_search
from realm_tf.index import searcher
from realm_tf.text import words

_K1, _B = 0.9, 0.4  # Anserini's values, usual for paragraphs.
logging.getLogger('bm25s').setLevel(logging.WARNING)  # It sets DEBUG.


class Bm25Retriever:
  """Ranks blocks by the words that a question shares with title and text.

  Words are lower-cased and stemmed. English stop words are dropped. Scripts
  without spaces have pairs of letters (`text.words`).
  """

  def __init__(self, titles: Sequence[str], texts: Sequence[str]):
    self._num_blocks = len(texts)
    self._stemmer = Stemmer.Stemmer('english')
    self._index = bm25s.BM25(k1=_K1, b=_B)
    tokens = self._tokenize(
      [f'{title} {text}' for title, text in zip(titles, texts, strict=True)]
    )
    if not tokens.vocab:
      raise errors.UserError(
        'BM25 needs blocks with words of two letters or more other than stop '
        f'words. Found none in {len(texts)} blocks. Use another corpus.'
      )
    self._index.index(tokens, show_progress=False)

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    found = [searcher.nothing(0, min(k, self._num_blocks))]
    for tokens in self._tokenize(queries.texts, return_ids=False):
      scores = self._scores(tokens)[None]
      found.append(searcher.mark_missing(*exact_search.largest(scores, k)))
    joined = interfaces.Neighbors(*map(np.concatenate, zip(*found)))
    return searcher.fill(joined, k)

  def score(
    self, questions: Sequence[str], rows: np.ndarray, block_ids: np.ndarray
  ) -> np.ndarray:
    """Returns the scores of pairs of a question and a block, float32 [n].

    `rows`, int [n], are the indices of the pairs' questions, ascending.
    """
    scores = np.zeros(len(rows), np.float32)
    ends = np.searchsorted(rows, np.arange(len(questions) + 1))
    found = self._tokenize(questions, return_ids=False)
    for tokens, start, stop in zip(found, ends, ends[1:]):
      if stop > start:
        scores[start:stop] = self._scores(tokens)[block_ids[start:stop]]
    return scores

  def _scores(self, tokens: Sequence[str]) -> np.ndarray:
    """Returns the scores of all blocks, float32 [N]."""
    known = self._index.get_tokens_ids(tokens)
    if not known:
      return np.zeros(self._num_blocks, np.float32)
    return self._index.get_scores_from_ids(known)

  def _tokenize(self, texts: Sequence[str], return_ids: bool = True) -> Any:
    return bm25s.tokenize(
      list(map(words.spaced_pairs, texts)),
      token_pattern=rf'[\w{words.marks()}]{{2,}}',
      stopwords='en',
      stemmer=self._stemmer,
      return_ids=return_ids,
      show_progress=False,
    )


def over_table(table: block_table.BlockTable) -> Bm25Retriever:
  """Returns a retriever over all blocks of a corpus."""
  ids = range(table.num_blocks)
  return Bm25Retriever(table.titles(ids), table.texts(ids))
