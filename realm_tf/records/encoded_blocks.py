"""Batches of blocks as the bytes and arrays that are written to disk.

Worker processes encode what they cut: a few large arrays are cheap to send to
the process that writes.
"""

from collections.abc import Iterable, Iterator, Sequence
import hashlib
import itertools
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.records import schema

_BATCH_BLOCKS = 4096


class Rows(NamedTuple):
  """N rows of different lengths.

  Attributes:
    values: The rows end to end.
    lengths: int32 [N].
  """

  values: np.ndarray
  lengths: np.ndarray

  def select(self, is_kept: np.ndarray) -> 'Rows':
    """Returns the rows where bool [N] `is_kept`."""
    return Rows(
      self.values[np.repeat(is_kept, self.lengths)], self.lengths[is_kept]
    )


class EncodedBlocks(NamedTuple):
  """N blocks, in order.

  Attributes:
    records: Serialized tf.train.Example of each block.
    hashes: Hashes of title and body, uint64 [N]: equal for exact duplicates.
    texts: Bodies, UTF-8 in uint8.
    body_ids: Wordpieces of the bodies, int32.
    sentence_ends: Ends of the sentences in wordpieces, int32.
    articles: (article_id, title, title_ids) of each article.
    article_rows: Index into `articles` of each block, int32 [N], ascending.
  """

  records: list[bytes]
  hashes: np.ndarray
  texts: Rows
  body_ids: Rows
  sentence_ends: Rows
  articles: list[tuple[str, str, np.ndarray]]
  article_rows: np.ndarray

  def select(self, is_kept: np.ndarray) -> 'EncodedBlocks':
    """Returns the blocks where bool [N] `is_kept`, and their articles."""
    rows, article_rows = np.unique(
      self.article_rows[is_kept], return_inverse=True
    )
    return EncodedBlocks(
      list(itertools.compress(self.records, is_kept)),
      self.hashes[is_kept],
      self.texts.select(is_kept),
      self.body_ids.select(is_kept),
      self.sentence_ends.select(is_kept),
      [self.articles[row] for row in rows],
      article_rows.astype(np.int32),
    )


def encode(blocks: Sequence[blocks_lib.Block]) -> EncodedBlocks:
  """Encodes blocks; an article's blocks are neighbours."""
  articles, article_rows = [], np.zeros(len(blocks), np.int32)
  last = None
  for i, block in enumerate(blocks):
    if (block.article_id, block.title) != last:
      last = (block.article_id, block.title)
      articles.append((*last, block.title_ids))
    article_rows[i] = len(articles) - 1
  return EncodedBlocks(
    [schema.encode_block(block) for block in blocks],
    np.array([_content_hash(block) for block in blocks], np.uint64),
    text_rows([block.text for block in blocks]),
    int_rows([block.body_ids for block in blocks]),
    int_rows([block.sentence_ends for block in blocks]),
    articles,
    article_rows,
  )


def encode_all(blocks: Iterable[blocks_lib.Block]) -> Iterator[EncodedBlocks]:
  """Encodes blocks in batches, lazily."""
  blocks = iter(blocks)
  while batch := list(itertools.islice(blocks, _BATCH_BLOCKS)):
    yield encode(batch)


def _content_hash(block: blocks_lib.Block) -> int:
  content = f'{block.title}\n{block.text}'.encode('utf-8', 'replace')
  return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), 'big')


def text_rows(texts: Sequence[str]) -> Rows:
  """Returns texts as rows of UTF-8 in uint8."""
  return byte_rows([text.encode('utf-8', 'replace') for text in texts])


def byte_rows(texts: Sequence[bytes]) -> Rows:
  """Returns rows of uint8."""
  return Rows(
    np.frombuffer(b''.join(texts), np.uint8),
    np.array([len(text) for text in texts], np.int32),
  )


def int_rows(rows: Sequence[np.ndarray]) -> Rows:
  """Returns rows of int32."""
  return Rows(
    np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
    np.array([len(row) for row in rows], np.int32),
  )
