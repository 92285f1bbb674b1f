"""Writes the table of a corpus: encoded blocks -> columns of `block_table`."""

import os
from typing import Optional

import numpy as np

from realm_tf.records import block_table
from realm_tf.records import columns
from realm_tf.records import encoded_blocks


class BlockTableWriter:
  """Writes the table of a corpus batch by batch.

  Args:
    corpus_dir: A local directory, in which the table becomes a folder.
  """

  def __init__(self, corpus_dir: str):
    self._dir = os.path.join(corpus_dir, block_table.FOLDER)
    os.makedirs(self._dir)
    self._columns = {
      name: columns.ColumnWriter(self._dir, name, dtype)
      for name, dtype in block_table.COLUMNS.items()
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
