"""Makes queries, and wraps searches: in batches, kept, summed, alternating."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from realm_tf import interfaces
from realm_tf.data import memory
from realm_tf.index import searcher
from realm_tf.text import wordpiece

Find = Callable[[], interfaces.Neighbors]  # Waits for hits.
_MOST_KEPT_BYTES = 1 << 27  # 20 blocks each of 200,000 queries.
# On CISI 500 blocks give the nDCG@10 of all sums, 100 one point less.
_HYBRID_DEPTH = 500


def of_texts(
  texts: Sequence[str], ids: np.ndarray | None = None
) -> interfaces.Queries:
  """Returns questions; without `ids`, only a search by words works."""
  if ids is None:
    ids = np.zeros([len(texts), 1], np.int32)
  return interfaces.Queries(ids, lambda: texts)


def masked(
  ids: np.ndarray, tokenizer: wordpiece.WordpieceTokenizer
) -> interfaces.Queries:
  """Returns masked sentences as queries; their texts lack the masked words."""
  return interfaces.Queries(
    ids,
    lambda: [
      tokenizer.detokenize(row[row != tokenizer.mask_id]) for row in ids
    ],
  )


def begin(retriever: Any, queries: interfaces.Queries, k: int) -> Find:
  """Starts a search on devices; other retrievers search when it ends."""
  if hasattr(retriever, 'begin'):
    return retriever.begin(queries, k)
  return lambda: retriever.retrieve(queries, k)


class Starting(abc.ABC):
  """A retriever whose searches start before they end."""

  @abc.abstractmethod
  def begin(self, queries: interfaces.Queries, k: int) -> Find:
    """Starts a search; the returned function waits for its result."""

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    return self.begin(queries, k)()


class Nothing:
  """Finds no block."""

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    return searcher.nothing(len(queries), k)


class InBatches:
  """Retrieves in batches of `size` queries.

  Args:
    filled: Whether copies of the last query fill the last batch up to a power
      of two. Few sizes save compilations; a search by words needs none.
  """

  def __init__(
    self, retriever: interfaces.Retriever, size: int, *, filled: bool = True
  ):
    self._retriever, self._size, self._filled = retriever, size, filled

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    found = [searcher.nothing(0, k)]
    for start in range(0, len(queries), self._size):
      number = min(self._size, len(queries) - start)
      power = min(self._size, 1 << (number - 1).bit_length())
      rows = np.arange(power if self._filled else number)
      rows = start + np.minimum(rows, number - 1)
      batch = self._retriever.retrieve(queries.take(rows), k)
      found.append(interfaces.Neighbors(*(array[:number] for array in batch)))
    return interfaces.Neighbors(*map(np.concatenate, zip(*found)))


class Kept:
  """Keeps the blocks of each text, because training needs them every pass."""

  def __init__(self, retriever: interfaces.Retriever):
    self._retriever = retriever
    # (text, k) -> block ids and scores, [k] each.
    self._memory = memory.Memory(_MOST_KEPT_BYTES)

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    found = self._memory.values(
      [(text, k) for text in queries.texts],
      lambda rows: zip(*self._retriever.retrieve(queries.take(rows), k)),
    )
    return interfaces.Neighbors(*map(np.stack, zip(*found)))


class Hybrid:
  """Ranks by Embed_input(x) . Embed_doc(z) + weight BM25(x,z).

  BM25 matches names and numbers that training never showed; embeddings blur
  them.

  A block that one retriever missed gets that retriever's lowest score. Each
  finds more than k blocks, because the best sums may be beyond its k best.
  """

  def __init__(
    self,
    dense: interfaces.Retriever,
    sparse: interfaces.Retriever,
    *,
    weight: float,
  ):
    self._both, self._weight = (dense, sparse), weight

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    depth = max(k, _HYBRID_DEPTH)
    dense, sparse = (each.retrieve(queries, depth) for each in self._both)
    return fuse(dense, sparse, self._weight, k)


class Alternating(Starting):
  """Takes hits from two retrievers alternately, best first.

  A block that both found comes twice; `candidates.select` drops the second.
  """

  def __init__(self, one: interfaces.Retriever, two: interfaces.Retriever):
    self._both = one, two

  def begin(self, queries: interfaces.Queries, k: int) -> Find:
    """Starts both searches; they find [B, 2k]."""
    ends = [begin(each, queries, k) for each in self._both]

    def end() -> interfaces.Neighbors:
      found = zip(*(each() for each in ends))
      return interfaces.Neighbors(
        *(np.stack(x, axis=2).reshape([len(queries), -1]) for x in found)
      )

    return end


def fuse(
  one: interfaces.Neighbors, two: interfaces.Neighbors, weight: float, k: int
) -> interfaces.Neighbors:
  """Returns the `k` best blocks by the score of `one` + `weight` * `two`.

  Every row must have a block.
  """
  of_two, _ = _of_other(one.block_ids, two)
  of_one, is_of_one = _of_other(two.block_ids, one)
  of_two = one.scores + weight * of_two
  of_one = weight * two.scores + of_one
  of_one[is_of_one] = -np.inf  # `of_two` has it.
  ids = np.concatenate([one.block_ids, two.block_ids], axis=1)
  scores = np.concatenate([of_two, of_one], axis=1)
  scores[ids < 0] = -np.inf
  best = np.argsort(-scores, axis=1, kind='stable')[:, :k]
  found = (np.take_along_axis(x, best, axis=1) for x in (ids, scores))
  return searcher.fill(searcher.mark_missing(*found), k)


def _of_other(
  ids: np.ndarray, other: interfaces.Neighbors
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the other retriever's scores of blocks, and where it has one.

  Others get its lowest score. Arrays are [B, n].
  """
  lowest = np.min(
    other.scores,
    axis=1,
    where=np.isfinite(other.scores),
    initial=np.inf,
    keepdims=True,
  )
  lowest = np.where(np.isfinite(lowest), lowest, 0.0)
  # One sorted list of all rows: to compare all pairs would take n^2.
  rows = np.arange(len(ids))[:, None] << 32
  ours, theirs = rows + ids, np.ravel(rows + other.block_ids)
  order = np.argsort(theirs)
  place = np.searchsorted(theirs, ours, sorter=order)
  place = order[np.minimum(place, len(order) - 1)]
  has = (theirs[place] == ours) & (ids >= 0)
  return np.where(has, np.ravel(other.scores)[place], lowest), has
