"""Memory-mapped table of a corpus: block ids -> wordpieces and texts.

A block's id is its row number. The blocks of an article are adjacent rows; they
share one stored title and article id.
"""

import collections
from collections.abc import Iterable, Sequence
import functools
import hashlib
import itertools
import os
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.data import columns
from realm_tf.run import manifests


def text_hash(text: str) -> int:
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
      [text_hash(f'{block.title}\n{block.text}') for block in blocks], np.uint64
    ),
    np.cumsum(is_first, dtype=np.int32) - np.int32(1),
    of_texts([block.article_id for block in articles]),
    of_texts([block.title for block in articles]),
    of_ids([block.title_ids for block in articles]),
    of_texts([block.text for block in blocks]),
    of_ids([block.body_ids for block in blocks]),
    of_ids([block.sentence_ends for block in blocks]),
  )


FOLDER = 'table'
SCHEMA_VERSION = 2
COLUMNS = ARTICLE_COLUMNS | BLOCK_COLUMNS
ALL_COLUMNS = {'article_rows': np.int32, 'hashes': np.uint64} | COLUMNS
_COUNT = json_text.count(1, 2**31 - 1)
KIND = manifests.Kind(
  'a corpus directory',
  'bin.make_blocks',
  {
    'num_blocks': _COUNT,
    'schema_version': json_text.one_of(SCHEMA_VERSION),
    'vocabulary_sha256': str,
    'corpus_fingerprint': str,
    'max_block_wordpieces': _COUNT,
    'source': dict,
    'links': json_text.optional(
      json_text.object_of(
        {
          'kind': json_text.one_of('markup', 'titles'),
          'number': json_text.COUNT,
        }
      )
    ),
  },
  (
    'vocab.txt',
    *(f'{FOLDER}/{name}.npy' for name in ALL_COLUMNS),
    *(f'{FOLDER}/{name}.offsets.npy' for name in COLUMNS),
  ),
)


class BlockTable:
  """The N blocks of a corpus; made by `open`."""

  def __init__(self, corpus_dir: str, manifest: dict[str, Any]):
    self.corpus_dir = corpus_dir
    self.manifest = manifest
    rows = self._open('article_rows', manifest.get('num_blocks'))
    self.article_rows = np.asarray(rows)  # int32 [N], ascending.
    self.num_blocks = len(rows)
    self.num_articles = int(rows[-1]) + 1 if len(rows) else 0
    self._columns = {
      name: columns.Rows.open(
        os.path.join(corpus_dir, FOLDER),
        name,
        dtype,
        self.num_articles if name in ARTICLE_COLUMNS else self.num_blocks,
      )
      for name, dtype in COLUMNS.items()
    }

  @classmethod
  def open(cls, corpus_dir: str, verify: bool = False) -> 'BlockTable':
    """Opens a corpus; `verify` reads all files and compares their checksums."""
    return cls(corpus_dir, read_manifest(corpus_dir, verify))

  def all_titles(self) -> list[str]:
    return self._columns['titles'].texts()

  def all_article_ids(self) -> list[str]:
    return self._columns['article_ids'].texts()

  def titles(self, ids: Sequence[int]) -> list[str]:
    return [self._columns['titles'].text(row) for row in self._rows(ids)]

  def texts(self, ids: Sequence[int]) -> list[str]:
    return [self._columns['texts'].text(i) for i in ids]

  def article_ids(self, ids: Sequence[int]) -> list[str]:
    return [self._columns['article_ids'].text(row) for row in self._rows(ids)]

  def sentence_ends(self, block_id: int) -> np.ndarray:
    """Returns where each sentence of the body ends, in wordpieces, int32."""
    return self._columns['sentence_ends'].row(block_id)

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns wordpieces of blocks [...], cut or zero-padded; zeros for -1.

    Returns:
      Titles, int32 [..., title_length], and bodies, int32 [..., body_length].
    """
    ids = np.asarray(ids)
    rows = np.where(
      ids < 0, interfaces.NULL_BLOCK, self.article_rows[np.maximum(ids, 0)]
    )
    return (
      self._columns['title_ids'].gather(rows, title_length),
      self._columns['body_ids'].gather(ids, body_length),
    )

  def lengths(self, ids: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    """Returns the wordpieces per title and body, int32; by default of all."""
    title_ids, body_ids = self._columns['title_ids'], self._columns['body_ids']
    return title_ids.lengths(self.article_rows[ids]), body_ids.lengths(ids)

  def encoded(self, start: int, stop: int) -> EncodedBlocks:
    """Returns the blocks of rows [start, stop)."""
    rows = self.article_rows[start:stop]
    of_articles = int(rows[0]), int(rows[-1]) + 1
    slices = {
      name: column.slice(*of_articles)
      if name in ARTICLE_COLUMNS
      else column.slice(start, stop)
      for name, column in self._columns.items()
    }
    return EncodedBlocks(
      np.asarray(self.hashes[start:stop]), rows - rows[0], **slices
    )

  def find_article(self, article_id: str) -> np.ndarray:
    """Returns the ids of an article's blocks, int64; none if it is unknown."""
    return self._blocks_of(self._rows_of_article_ids.get(article_id, []))

  def article_blocks(self, block_id: int) -> np.ndarray:
    """Returns the ids of all blocks of a block's article, or none, int64."""
    if not 0 <= block_id < self.num_blocks:
      return self._blocks_of([])
    return self._blocks_of([int(self.article_rows[block_id])])

  def find_title(self, title: str) -> np.ndarray:
    """Returns the ids of all blocks with a title, int64."""
    return self._blocks_of(self._rows_of_titles.get(title, []))

  @functools.cached_property
  def hashes(self) -> np.ndarray:
    """Hash of title and body of each block, uint64 [N]."""
    return self._open('hashes', self.num_blocks)

  def _open(self, name: str, num_rows: Optional[int]) -> np.ndarray:
    path = os.path.join(self.corpus_dir, FOLDER, f'{name}.npy')
    return columns.open_array(path, ALL_COLUMNS[name], [num_rows])

  def _rows(self, ids: Sequence[int]) -> np.ndarray:
    return self.article_rows[np.asarray(ids, np.int64)]

  def _blocks_of(self, rows: Sequence[int]) -> np.ndarray:
    # Bounds of another dtype would make NumPy copy all rows.
    dtype = self.article_rows.dtype
    bounds = (np.array([row, row + 1], dtype) for row in rows)
    return np.concatenate(
      [np.zeros(0, np.int64)]
      + [np.arange(*np.searchsorted(self.article_rows, b)) for b in bounds]
    )

  @functools.cached_property
  def _rows_of_article_ids(self) -> dict[str, list[int]]:
    return _rows_of_texts(self.all_article_ids())

  @functools.cached_property
  def _rows_of_titles(self) -> dict[str, list[int]]:
    return _rows_of_texts(self.all_titles())


def read_manifest(corpus_dir: str, verify: bool = False) -> dict[str, Any]:
  """Returns the manifest of a corpus, checked like `BlockTable.open`."""
  manifest = manifests.read(corpus_dir, KIND)
  manifests.check(corpus_dir, manifest, verify)
  return manifest


def fingerprint(corpus_dir: str) -> str:
  """Returns the fingerprint in a corpus's manifest; checks no other file."""
  return manifests.read(corpus_dir, KIND)['corpus_fingerprint']


def _rows_of_texts(texts: Sequence[str]) -> dict[str, list[int]]:
  rows = collections.defaultdict(list)
  for row, text in enumerate(texts):
    rows[text].append(row)
  return rows


def check_article_ids(
  ids: Iterable[str], table: BlockTable, what: str, needs_one: bool = True
) -> None:
  """Warns if the corpus lacks some ids; UserError if it lacks all of them.

  Args:
    ids: Ids of articles, in questions or judgements; '' is ignored.
    what: Owner of the ids, for the message.
    needs_one: False warns even if the corpus lacks all ids.
  """
  asked = set(ids) - {''}
  lacking = asked.difference(table.all_article_ids() if asked else ())
  if not lacking:
    return
  found = (
    f'{len(lacking)} of {len(asked)} that are not in {table.corpus_dir}, such '
    f'as {min(lacking)!r:.40}'
  )
  if needs_one and lacking == asked:
    raise errors.UserError(
      f'{what} must name articles of the corpus. Found {found}; it has e.g. '
      f'{next(iter(table.article_ids([0])), "")!r:.40}. Give the corpus that '
      'they were made for.'
    )
  logging.warning('%s should name articles. Found %s.', what, found)


def find_hashes(keys: np.ndarray, hashes: np.ndarray) -> np.ndarray:
  """Returns the first row of each key in `hashes`, int64, or -1."""
  order = np.argsort(hashes, kind='stable')
  places = find_sorted(keys, hashes[order])
  return np.append(order, interfaces.NULL_BLOCK)[places]


def find_sorted(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
  """Returns the place of each key in `known`, ascending, int64, or -1."""
  if not len(known):
    return np.full(len(keys), -1, np.int64)
  places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
  return np.where(known[places] == keys, places, -1)
