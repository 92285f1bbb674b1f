"""Writes corpus directories: encoded blocks -> columns, links, manifest.

manifest.json   schema_version, num_blocks, vocabulary_sha256, source, files,
                corpus_fingerprint, max_block_wordpieces
vocab.txt       vocabulary; tokenizer_config.json has non-default rules
table/          blocks, memory-mapped (records/block_table.py)
links/          links between articles, optional (records/link_graph.py)
"""

from collections.abc import Iterable
import hashlib
import os
from typing import Any, Optional

import numpy as np

from realm_tf import errors
from realm_tf.records import block_table
from realm_tf.records import columns
from realm_tf.records import corpus_links
from realm_tf.records import encoded_blocks
from realm_tf.rundir import outputs
from realm_tf.text import tokenizer_files
from realm_tf.text import wordpiece


def write(
  batches: Iterable[encoded_blocks.EncodedBlocks],
  output_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  source: dict[str, Any],
  max_block_wordpieces: int,
  links: Optional[corpus_links.CorpusLinks] = None,
) -> dict[str, Any]:
  """Writes or replaces a corpus in one pass; returns its manifest.

  Args:
    batches: Blocks in the order of the corpus; UserError if there are none.
    source: Source of the articles; read last, so it may hold counts that grow
      while `batches` are made.
    max_block_wordpieces: Upper bound of 3 + title + body.
    links: Finds the links between the written articles.
  """
  with outputs.publishing(output_dir) as (staging, manifest):
    table = _TableWriter(os.path.join(staging, block_table.FOLDER))
    try:
      for batch in batches:
        table.extend(batch)
    finally:
      table.close()
    if not table.num_blocks:
      raise errors.UserError(
        'A corpus must have at least one block. Found no text in the articles '
        'of --input. Check --input and --format.'
      )
    tokenizer_files.write(staging, tokenizer.vocabulary, tokenizer.rules)
    if links:
      manifest['links'] = links.write(staging)
    manifest.update(
      schema_version=block_table.SCHEMA_VERSION,
      num_blocks=table.num_blocks,
      vocabulary_sha256=tokenizer.vocabulary_sha256,
      corpus_fingerprint=table.fingerprint(),
      max_block_wordpieces=max_block_wordpieces,
      source=source,
    )
  return manifest


class _TableWriter:
  """Writes the table of a corpus, batch by batch, to a new local folder."""

  def __init__(self, folder: str):
    os.makedirs(folder)
    self._folder = folder
    self._columns = {
      name: columns.ColumnWriter(folder, name, dtype)
      for name, dtype in block_table.COLUMNS.items()
    }
    self._last_article: Optional[tuple[str, str]] = None
    self._num_articles = 0
    self._article_rows = [np.zeros(0, np.int32)]
    self._hashes = [np.zeros(0, np.uint64)]
    self.num_blocks = 0

  def extend(self, batch: encoded_blocks.EncodedBlocks) -> None:
    articles = batch.articles()
    is_new = np.ones(len(articles), bool)
    if articles:  # An article that spans two batches gets one row.
      is_new[0] = articles[0] != self._last_article
      self._last_article = articles[-1]
    first_row = self._num_articles - np.sum(~is_new, dtype=np.int32)
    self._num_articles += int(np.sum(is_new))
    self._article_rows.append(batch.article_rows + np.int32(first_row))
    self._hashes.append(batch.hashes)
    self.num_blocks += len(batch.hashes)
    for name in encoded_blocks.ARTICLE_COLUMNS:
      self._columns[name].extend(getattr(batch, name).select(is_new))
    for name in encoded_blocks.BLOCK_COLUMNS:
      self._columns[name].extend(getattr(batch, name))

  def close(self) -> None:
    for column in self._columns.values():
      column.close()
    for name, parts in (
      ('article_rows', self._article_rows),
      ('hashes', self._hashes),
    ):
      np.save(os.path.join(self._folder, name), np.concatenate(parts))

  def fingerprint(self) -> str:
    """Returns the SHA-256 of the blocks' content; call `close` first."""
    digest = hashlib.sha256(np.concatenate(self._article_rows).tobytes())
    for name in block_table.COLUMNS:
      digest.update(self._columns[name].sha256())
    return digest.hexdigest()
