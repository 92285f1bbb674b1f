"""Searches by words: which there are, and how questions and sentences use them.

block table -> retriever by words -> [this file] -> a search
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from realm_tf.index import searcher
from realm_tf.records import block_table
from realm_tf.retrieval import bm25
from realm_tf.retrieval import candidates
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import tfidf
from realm_tf.text import wordpiece

_MOST_KEPT = 200_000  # Searches; of 20 blocks each they take about 100 MB.


class WordRetriever(Protocol):
  """Ranks blocks by the words of a question."""

  def retrieve_texts(
    self, questions: Sequence[str], k: int
  ) -> searcher.Neighbors:
    """Returns the `k` best blocks of each question; -1 and -inf if fewer."""


_KINDS: dict[str, Callable[[block_table.BlockTable], WordRetriever]] = {
  'bm25': bm25.over_table,
  'tfidf': tfidf.over_table,
  'bm25_graph': linked_blocks.LinkedBm25.over_table,
}
NAMES = tuple(_KINDS)


def over_table(kind: str, table: block_table.BlockTable) -> WordRetriever:
  """Returns a retriever over all blocks of a corpus; `kind` is in `NAMES`."""
  return _KINDS[kind](table)


def wordpiece_search(
  retriever: WordRetriever, tokenizer: wordpiece.WordpieceTokenizer
) -> candidates.Search:
  """Returns a search by the words of masked queries, without their masks.

  What was found is kept: each pass over the queries asks for much of it again.
  """
  kept: dict[tuple[str, int], np.ndarray] = {}  # Block ids, int [k].

  def search(query_ids, k):
    texts = [
      tokenizer.detokenize(row[row != tokenizer.mask_id]) for row in query_ids
    ]
    if len(kept) > _MOST_KEPT:
      kept.clear()
    new = [text for text in dict.fromkeys(texts) if (text, k) not in kept]
    if new:
      found = retriever.retrieve_texts(new, k).block_ids
      kept.update(((text, k), ids) for text, ids in zip(new, found))
    return np.stack([kept[text, k] for text in texts])

  return search


def fixed_search(
  retrieve: Callable[[Sequence[str], int], searcher.Neighbors],
  questions: Sequence[str],
  k: int,
) -> Callable[..., searcher.Neighbors]:
  """Returns a search over what is found for these questions, found once.

  Args:
    retrieve: Finds the k best blocks of each question; see `WordRetriever`.

  Returns:
    (rows of the questions, anything, at most k) -> the best blocks.
  """
  found = retrieve(questions, k)
  return lambda rows, _, num: searcher.Neighbors(
    found.block_ids[rows, :num], found.scores[rows, :num]
  )
