"""Files of a corpus directory, written in batches or linked.

batches of encoded blocks -> shards, table, and the fingerprint of the corpus
"""

from collections.abc import Iterable
import hashlib
import os
from typing import Optional

import tensorflow as tf

from realm_tf.records import block_table_writer
from realm_tf.records import encoded_blocks


def shard_path(corpus_dir: str, shard: int) -> str:
  """Returns the path of a TFRecord file."""
  return os.path.join(corpus_dir, f'blocks-{shard:05d}.tfrecord')


class CorpusWriter:
  """Writes shards and table to a local directory, which exists.

  Attributes:
    shard_blocks: Number of blocks in each shard so far.
  """

  def __init__(self, directory: str, max_shard_blocks: int):
    self._dir = directory
    self._max_shard_blocks = max_shard_blocks
    self._table = block_table_writer.BlockTableWriter(directory)
    self._digest = hashlib.sha256()
    self._shard: Optional[tf.io.TFRecordWriter] = None
    self.shard_blocks: list[int] = []

  def extend(self, batch: encoded_blocks.EncodedBlocks) -> None:
    """Appends blocks, and begins new shards as they fill."""
    for record in batch.records:
      if self._shard and self.shard_blocks[-1] == self._max_shard_blocks:
        self.end_shard()
      if not self._shard:
        path = shard_path(self._dir, len(self.shard_blocks))
        self._shard = tf.io.TFRecordWriter(path)
        self.shard_blocks.append(0)
      self._shard.write(record)
      self.shard_blocks[-1] += 1
    self._add(batch)

  def link(
    self, path: str, batches: Iterable[encoded_blocks.EncodedBlocks]
  ) -> None:
    """Appends a shard of another corpus, as a hard link where possible."""
    self.end_shard()
    goal = shard_path(self._dir, len(self.shard_blocks))
    try:
      os.link(path, goal)
    except OSError:  # Another file system, or a remote one.
      tf.io.gfile.copy(path, goal)
    self.shard_blocks.append(0)
    for batch in batches:
      self.shard_blocks[-1] += len(batch.records)
      self._add(batch)

  def end_shard(self) -> None:
    """Ends the shard; the next block begins another."""
    if self._shard:
      self._shard.close()
    self._shard = None

  def close(self) -> str:
    """Completes the files and returns the fingerprint."""
    self.end_shard()
    self._table.close()
    return self._digest.hexdigest()

  def _add(self, batch):
    for record in batch.records:
      self._digest.update(hashlib.sha256(record).digest())
    self._table.extend(batch)
