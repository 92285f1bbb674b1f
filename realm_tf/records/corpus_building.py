"""Articles -> encoded blocks without duplicates, on the cores of a machine.

  articles -> batches -> [worker: plain text, blocks, records] -> new blocks

The result is the same for any number of workers.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import parallel
from realm_tf.corpus import sources
from realm_tf.corpus import tally as tally_lib
from realm_tf.records import encoded_blocks
from realm_tf.records import seen_hashes
from realm_tf.text import wordpiece


def build(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: int,
  tally: tally_lib.Tally,
  num_workers: int = 1,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Yields the blocks of all `articles`, in order, each content once.

  Args:
    articles: Read a few batches ahead.
    tokenizer: Of the corpus.
    max_block_wordpieces: Upper bound of 3 + title + body.
    tally: Counts 'duplicate block'.
    num_workers: Processes that cut; 1 cuts in this one.
  """
  batches = parallel.ordered_map(
    Cutter,
    (tokenizer.vocabulary, max_block_wordpieces),
    blocks_lib.batches(articles),
    num_workers,
  )
  return without_duplicates(batches, tally)


def without_duplicates(
  batches: Iterable[encoded_blocks.EncodedBlocks],
  tally: tally_lib.Tally,
  known: Optional[np.ndarray] = None,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Yields the batches, of each content the first block only.

  Args:
    batches: In order.
    tally: Counts 'duplicate block'.
    known: Hashes of blocks that are there already.
  """
  seen = seen_hashes.SeenHashes()
  if known is not None:
    seen.add(known)
  for batch in batches:
    is_new = seen.add(batch.hashes)
    num_old = int(np.sum(~is_new))
    if num_old:
      tally.drop('duplicate block', num_old)
      batch = batch.select(is_new)
    yield batch


class Cutter:
  """Cuts batches of articles; one in each worker process.

  Args:
    vocabulary: See `wordpiece.WordpieceTokenizer`.
    max_block_wordpieces: Upper bound of 3 + title + body.
  """

  def __init__(self, vocabulary: Sequence[str], max_block_wordpieces: int):
    self._tokenizer = wordpiece.WordpieceTokenizer(vocabulary)
    self._max_block_wordpieces = max_block_wordpieces

  def __call__(
    self, articles: Sequence[sources.Article]
  ) -> encoded_blocks.EncodedBlocks:
    return encoded_blocks.encode(
      list(
        blocks_lib.cut_batch(
          list(map(sources.plain, articles)),
          self._tokenizer,
          self._max_block_wordpieces,
        )
      )
    )
