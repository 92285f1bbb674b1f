"""Titles and texts of a corpus as variables of a SavedModel.

Variables are not part of the graph, which may not exceed 2 GB. Each article's
title is stored once.
"""

import numpy as np
import tensorflow as tf

from realm_tf.records import block_table

_CHUNK_BLOCKS = 1 << 14  # Python strings in memory at a time.


class GraphBlocks(tf.Module):
  """Looks up the N blocks of a corpus inside a graph."""

  def __init__(self, table: block_table.BlockTable):
    super().__init__(name='blocks')
    rows = table.article_rows
    first_blocks = np.searchsorted(rows, np.arange(rows[-1] + 1))
    self._texts = _strings(table.texts, range(table.num_blocks), 'texts')
    self._titles = _strings(table.titles, first_blocks, 'titles')
    self._article_rows = tf.Variable(
      rows, dtype=tf.int32, trainable=False, name='article_rows'
    )

  def texts(self, block_ids: tf.Tensor) -> tf.Tensor:
    """Returns the texts of blocks, in the shape of `block_ids`."""
    return tf.gather(self._texts, block_ids)

  def titles(self, block_ids: tf.Tensor) -> tf.Tensor:
    """Returns the titles of blocks, in the shape of `block_ids`."""
    return tf.gather(self._titles, tf.gather(self._article_rows, block_ids))


def _strings(read, ids, name):
  """Reads strings in chunks into one variable, string [n]."""
  parts = []
  for start in range(0, len(ids), _CHUNK_BLOCKS):
    texts = read(ids[start : start + _CHUNK_BLOCKS])
    parts.append(tf.constant([t.encode('utf-8', 'replace') for t in texts]))
  return tf.Variable(tf.concat(parts, axis=0), trainable=False, name=name)
