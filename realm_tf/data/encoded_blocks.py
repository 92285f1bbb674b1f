"""Batches of blocks as the arrays that are written to disk.

Worker processes encode their blocks, because a few large arrays are cheap to
send to the main process.
"""

from collections.abc import Sequence
import hashlib
import itertools
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.data import columns


def of(text: str) -> int:
  """Returns 64 bits, the same in every process."""
  data = text.encode('utf-8', 'replace')
  return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), 'big')


# Columns of a corpus -> type of their values.
ARTICLE_COLUMNS = {
  'article_ids': np.uint8,
  'titles': np.uint8,
  'title_ids': np.int32,
}
BLOCK_COLUMNS = {
  'texts': np.uint8,
  'body_ids': np.int32,
  'sentence_ends': np.int32,
}


class EncodedBlocks(NamedTuple):
  """N blocks of A articles, in order.

  Attributes:
    hashes: Hash of title and body, uint64 [N]: equal for exact duplicates.
    article_rows: Article of each block, int32 [N], ascending from 0 to A - 1.
    title_ids: Wordpieces of the A titles.
    texts: N bodies.
    body_ids: Wordpieces of the N bodies.
    sentence_ends: Where each sentence of the N bodies ends, in wordpieces.
  """

  hashes: np.ndarray
  article_rows: np.ndarray
  article_ids: columns.Rows
  titles: columns.Rows
  title_ids: columns.Rows
  texts: columns.Rows
  body_ids: columns.Rows
  sentence_ends: columns.Rows

  def articles(self) -> list[tuple[str, str]]:
    """Returns (id, title) of each article."""
    return list(zip(self.article_ids.texts(), self.titles.texts(), strict=True))

  def select(self, is_kept: np.ndarray) -> 'EncodedBlocks':
    """Returns the blocks where `is_kept`, bool [N], and their articles."""
    kept_rows, article_rows = np.unique(
      self.article_rows[is_kept], return_inverse=True
    )
    is_kept_article = np.isin(np.arange(len(self.titles)), kept_rows)
    return EncodedBlocks(
      self.hashes[is_kept],
      article_rows.astype(np.int32),
      *(getattr(self, n).select(is_kept_article) for n in ARTICLE_COLUMNS),
      *(getattr(self, n).select(is_kept) for n in BLOCK_COLUMNS),
    )


def encode(blocks: Sequence[blocks_lib.Block]) -> EncodedBlocks:
  """Encodes blocks; the blocks of an article must be adjacent."""
  names = [(block.article_id, block.title) for block in blocks]
  is_first = [not i or names[i] != names[i - 1] for i in range(len(names))]
  articles = list(itertools.compress(blocks, is_first))
  of_texts, of_ids = columns.Rows.of_texts, columns.Rows.of_ids
  return EncodedBlocks(
    np.array(
      [of(f'{block.title}\n{block.text}') for block in blocks], np.uint64
    ),
    np.cumsum(is_first, dtype=np.int32) - np.int32(1),
    of_texts([block.article_id for block in articles]),
    of_texts([block.title for block in articles]),
    of_ids([block.title_ids for block in articles]),
    of_texts([block.text for block in blocks]),
    of_ids([block.body_ids for block in blocks]),
    of_ids([block.sentence_ends for block in blocks]),
  )
