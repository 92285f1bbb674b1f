"""Cuts articles into encoded blocks, the same with any number of workers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import parallel
from realm_tf.corpus import sources
from realm_tf.records import encoded_blocks
from realm_tf.text import wordpiece

_BATCH_ARTICLES = 1024


def cut(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: Optional[int],
  num_workers: int = 1,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Yields the blocks of all `articles`, in order, duplicates included.

  Args:
    articles: Articles, read a few batches ahead.
    max_block_wordpieces: Upper bound of 3 + title + body; None makes each
      article one block, with its text unchanged.
    num_workers: Number of processes; 1 cuts in this process.
  """
  return parallel.ordered_map(
    Cutter,
    (tokenizer, max_block_wordpieces),
    blocks_lib.batches(articles)
    if max_block_wordpieces
    else sources.in_batches(articles, _BATCH_ARTICLES),
    num_workers,
  )


class Cutter:
  """Cuts batches of articles; one in each worker process of `cut`."""

  def __init__(
    self,
    tokenizer: wordpiece.WordpieceTokenizer,
    max_block_wordpieces: Optional[int],
  ):
    self._tokenizer = tokenizer
    self._max_block_wordpieces = max_block_wordpieces

  def __call__(
    self, articles: Sequence[sources.Article]
  ) -> encoded_blocks.EncodedBlocks:
    blocks = blocks_lib.cut_batch(
      articles, self._tokenizer, self._max_block_wordpieces
    )
    return encoded_blocks.encode(list(blocks))


def without_duplicates(
  batches: Iterable[encoded_blocks.EncodedBlocks],
  counts: counts_lib.Counts,
  known: Optional[np.ndarray] = None,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Yields the batches without repeated blocks and `known` hashes."""
  seen = SeenHashes()
  if known is not None:
    seen.add(known)
  for batch in batches:
    is_new = seen.add(batch.hashes)
    num_old = int(np.sum(~is_new))
    if num_old:
      counts.drop('duplicate block', num_old)
      batch = batch.select(is_new)
    yield batch


class SeenHashes:
  """Growing set of n uint64 in sorted runs; each value moves O(log n) times."""

  def __init__(self) -> None:
    self._runs: list[np.ndarray] = []  # Sorted, longest first.

  def __len__(self) -> int:
    return sum(map(len, self._runs))

  def add(self, hashes: np.ndarray) -> np.ndarray:
    """Adds uint64 [N]; returns which are new, bool [N]: the first of equals."""
    values, first = np.unique(hashes, return_index=True)
    is_known = np.zeros(len(values), bool)
    for run in self._runs:
      found = np.searchsorted(run, values)
      is_known |= run[np.minimum(found, len(run) - 1)] == values
    is_new = np.zeros(len(hashes), bool)
    is_new[first[~is_known]] = True
    self._append(values[~is_known])
    return is_new

  def _append(self, run: np.ndarray) -> None:
    if not len(run):
      return
    while self._runs and len(self._runs[-1]) < 2 * len(run):
      run = np.union1d(self._runs.pop(), run)
    self._runs.append(run)
