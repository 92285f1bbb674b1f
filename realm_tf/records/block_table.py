"""Memory-mapped table of a corpus: block ids -> wordpieces and texts.

A block's id is its row number in the corpus. Title and id of an article are
stored once; an article's blocks are neighbours.
"""

import collections
from collections.abc import Sequence
import functools
import os
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.records import columns
from realm_tf.records import encoded_blocks
from realm_tf.rundir import manifests

NULL_BLOCK = -1  # Id of the null block; its title and body are empty.
NOT_FOUND = -1  # Of `find_hashes`.
_FOLDER = 'table'
SCHEMA_VERSION = 2


class BlockTableWriter:
  """Writes the table of a corpus batch by batch.

  Args:
    corpus_dir: A local directory, in which the table becomes a folder.
  """

  def __init__(self, corpus_dir: str):
    self._dir = os.path.join(corpus_dir, _FOLDER)
    os.makedirs(self._dir)
    self._columns = {
      name: columns.ColumnWriter(self._dir, name, dtype)
      for name, dtype in (
        ('article_ids', np.uint8),
        ('titles', np.uint8),
        ('texts', np.uint8),
        ('title_ids', np.int32),
        ('body_ids', np.int32),
        ('sentence_ends', np.int32),
      )
    }
    self._article: Optional[tuple[str, str]] = None
    self._num_articles = 0
    self._article_rows: list[np.ndarray] = []
    self._hashes: list[np.ndarray] = []

  def extend(self, encoded: encoded_blocks.EncodedBlocks):
    """Appends blocks; an article's blocks are neighbours."""
    articles = encoded.articles
    # An article that spans two batches gets one row.
    if articles and articles[0][:2] == self._article:
      articles, first_row = articles[1:], self._num_articles - 1
    else:
      first_row = self._num_articles
    for article_id, title, title_ids in articles:
      self._article = (article_id, title)
      self._columns['article_ids'].append(article_id)
      self._columns['titles'].append(title)
      self._columns['title_ids'].append(title_ids)
    self._num_articles += len(articles)
    self._article_rows.append(encoded.article_rows + np.int32(first_row))
    self._hashes.append(encoded.hashes)
    for name in ('texts', 'body_ids', 'sentence_ends'):
      self._columns[name].extend(*getattr(encoded, name))

  def close(self):
    for column in self._columns.values():
      column.close()
    for name, dtype, parts in (
      ('article_rows', np.int32, self._article_rows),
      ('hashes', np.uint64, self._hashes),
    ):
      np.save(
        os.path.join(self._dir, f'{name}.npy'),
        np.concatenate([np.zeros(0, dtype), *parts]),
      )


class BlockTable:
  """The N blocks of a corpus; made by `open`.

  Attributes:
    corpus_dir: The corpus directory.
    manifest: Its manifest.
    num_blocks: N.
    article_rows: Number of each block's article, int32 [N], from 0 in the order
      of the corpus.
  """

  def __init__(self, corpus_dir: str, manifest: dict[str, Any]):
    folder = self._folder = os.path.join(corpus_dir, _FOLDER)
    self.corpus_dir = corpus_dir
    self.manifest = manifest
    self.article_rows = np.asarray(
      columns.read_array(os.path.join(folder, 'article_rows.npy'))
    )
    self.num_blocks = len(self.article_rows)
    self._article_ids, self._titles, self._texts = (
      columns.RaggedColumn.open(folder, name)
      for name in ('article_ids', 'titles', 'texts')
    )
    self._title_ids, self._body_ids, self._sentence_ends = (
      columns.RaggedColumn.open(folder, name)
      for name in ('title_ids', 'body_ids', 'sentence_ends')
    )

  @classmethod
  def open(cls, corpus_dir: str, verify: bool = False) -> 'BlockTable':
    """Opens a corpus directory.

    Args:
      verify: Whether to read all files and compare their checksums.

    Raises:
      UserError: It is no corpus, or incomplete, or a file was changed.
    """
    return cls(corpus_dir, read_manifest(corpus_dir, verify))

  @property
  def num_articles(self) -> int:
    return len(self._titles)

  def all_titles(self) -> list[str]:
    """Returns the title of each article, by row."""
    return [self._titles.text(row) for row in range(self.num_articles)]

  def all_article_ids(self) -> list[str]:
    """Returns the id of each article, by row."""
    return [self._article_ids.text(row) for row in range(self.num_articles)]

  def titles(self, ids: Sequence[int]) -> list[str]:
    return [self._titles.text(row) for row in self._rows(ids)]

  def texts(self, ids: Sequence[int]) -> list[str]:
    """Returns the bodies as written."""
    return [self._texts.text(i) for i in ids]

  def article_ids(self, ids: Sequence[int]) -> list[str]:
    return [self._article_ids.text(row) for row in self._rows(ids)]

  def sentence_ends(self, block_id: int) -> np.ndarray:
    """Returns the ends of the body's sentences in wordpieces, int32."""
    return self._sentence_ends.row(block_id)

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns wordpieces, cut or zero-padded; zeros for NULL_BLOCK.

    Args:
      ids: Block ids, [...].
      title_length: Lt.
      body_length: Lz.

    Returns:
      title_ids, int32 [..., Lt], and body_ids, int32 [..., Lz].
    """
    ids = np.asarray(ids)
    rows = np.where(ids < 0, NULL_BLOCK, self.article_rows[np.maximum(ids, 0)])
    return (
      self._title_ids.gather(rows, title_length),
      self._body_ids.gather(ids, body_length),
    )

  def lengths(
    self, ids: Optional[np.ndarray] = None
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the lengths of titles and bodies in wordpieces, int32 [n] each.

    Args:
      ids: Block ids, int64 [n]; by default all, without reading
        the columns block by block.
    """
    rows = self.article_rows if ids is None else self.article_rows[ids]
    return self._title_ids.lengths(rows), self._body_ids.lengths(ids)

  def encoded(
    self, start: int, records: Sequence[bytes]
  ) -> encoded_blocks.EncodedBlocks:
    """Returns the blocks from row `start` on, encoded.

    Args:
      start: Row of the first block.
      records: Serialized blocks, which the table does not hold.
    """
    stop = start + len(records)
    rows = np.asarray(self.article_rows[start:stop])
    articles = [
      (self._article_ids.text(i), self._titles.text(i), self._title_ids.row(i))
      for i in range(rows[0], rows[-1] + 1)
    ]
    texts, body_ids, sentence_ends = (
      encoded_blocks.Rows(*column.slice(start, stop))
      for column in (self._texts, self._body_ids, self._sentence_ends)
    )
    return encoded_blocks.EncodedBlocks(
      list(records),
      np.asarray(self.hashes[start:stop]),
      texts,
      body_ids,
      sentence_ends,
      articles,
      rows - rows[0],
    )

  def find_article(self, article_id: str) -> np.ndarray:
    """Returns the ids of the article's blocks, int64; empty if unknown."""
    return self._blocks_of(self._rows_of_article_ids.get(article_id, []))

  def find_title(self, title: str) -> np.ndarray:
    """Returns the ids of the blocks of all articles of a title, int64."""
    return self._blocks_of(self._rows_of_titles.get(title, []))

  @functools.cached_property
  def hashes(self) -> np.ndarray:
    """Hashes of title and body, uint64 [N]; equal blocks have equal hashes."""
    path = os.path.join(self._folder, 'hashes.npy')
    if not tf.io.gfile.exists(path):
      raise errors.UserError(
        f'A corpus must hold the hashes of its blocks. Found no {path}: it was '
        'made before they were kept. Make it again with bin.make_blocks.'
      )
    return columns.read_array(path)

  def _rows(self, ids: Sequence[int]) -> np.ndarray:
    return self.article_rows[np.asarray(ids, np.int64)]

  def _blocks_of(self, rows: Sequence[int]) -> np.ndarray:
    # Rows ascend, so an article is found by bisection: in their own dtype, as
    # NumPy would copy all of them to a wider one.
    dtype = self.article_rows.dtype
    bounds = (np.array([row, row + 1], dtype) for row in rows)
    return np.concatenate(
      [np.zeros(0, np.int64)]
      + [np.arange(*np.searchsorted(self.article_rows, b)) for b in bounds]
    )

  @functools.cached_property
  def _rows_of_article_ids(self) -> dict[str, list[int]]:
    return _rows_of_texts(self._article_ids)

  @functools.cached_property
  def _rows_of_titles(self) -> dict[str, list[int]]:
    return _rows_of_texts(self._titles)


def read_manifest(corpus_dir: str, verify: bool = False) -> dict[str, Any]:
  """Returns the manifest of a corpus; see `BlockTable.open`."""
  manifest = manifests.read(
    corpus_dir, 'a corpus directory', 'bin.make_blocks', 'num_blocks'
  )
  if manifest.get('schema_version') != SCHEMA_VERSION:
    raise errors.UserError(
      f'{corpus_dir} must be a corpus of schema {SCHEMA_VERSION}; it has '
      f'{manifest.get("schema_version")}. Make it again with '
      'bin.make_blocks.'
    )
  manifests.check(corpus_dir, manifest, verify)
  return manifest


def _rows_of_texts(column: columns.RaggedColumn) -> dict[str, list[int]]:
  rows = collections.defaultdict(list)
  for row in range(len(column)):
    rows[column.text(row)].append(row)
  return rows


def find_hashes(wanted: np.ndarray, hashes: np.ndarray) -> np.ndarray:
  """Returns the row of each of `wanted` in `hashes`, int64, or NOT_FOUND."""
  order = np.argsort(hashes, kind='stable')
  places = np.searchsorted(hashes, wanted, sorter=order)
  rows = order[np.minimum(places, len(order) - 1)]
  return np.where(hashes[rows] == wanted, rows, NOT_FOUND)
