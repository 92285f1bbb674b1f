"""Writes corpus directories: encoded blocks -> columns, links, manifest.

manifest.json   schema_version, num_blocks, vocabulary_sha256, source, files,
                corpus_fingerprint, max_block_wordpieces
vocab.txt       vocabulary; tokenizer_config.json has non-default rules
table/          blocks, memory-mapped (data/block_table.py)
links/          links between articles, optional (data/link_graph.py)
"""

from collections.abc import Iterable, Iterator, Sequence
import os
from typing import Any, Optional

import numpy as np

from realm_tf import errors
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import parallel
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import corpus_links
from realm_tf.data import encoded_blocks
from realm_tf.run import outputs
from realm_tf.text import tokenizer_files
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
    counts.drop('duplicate block', int(np.sum(~is_new)))
    yield batch if is_new.all() else batch.select(is_new)


class SeenHashes:
  """Growing set of n uint64 in sorted runs; each value moves O(log n) times."""

  def __init__(self) -> None:
    self._runs: list[np.ndarray] = []  # Longest first.

  def add(self, hashes: np.ndarray) -> np.ndarray:
    """Adds uint64 [N]; returns which are new, bool [N]: the first of equals."""
    run, first = np.unique(hashes, return_index=True)
    for known in self._runs:
      is_new = block_table.find_sorted(run, known) < 0
      run, first = run[is_new], first[is_new]
    while self._runs and len(self._runs[-1]) < 2 * len(run):
      run = np.union1d(self._runs.pop(), run)
    self._runs.append(run)
    return np.isin(np.arange(len(hashes)), first)


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
      fingerprint = table.close()
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
      corpus_fingerprint=fingerprint,
      max_block_wordpieces=max_block_wordpieces,
      source=source,
    )
  return manifest


class _TableWriter:
  """Writes the table of a corpus, batch by batch, to a new local folder."""

  def __init__(self, folder: str):
    os.makedirs(folder)
    self._columns = {
      name: columns.Writer(folder, name, dtype)
      for name, dtype in block_table.ALL_COLUMNS.items()
    }
    self._last_article: Optional[tuple[str, str]] = None
    self._num_articles = 0
    self.num_blocks = 0

  def extend(self, batch: encoded_blocks.EncodedBlocks) -> None:
    articles = batch.articles()
    is_new = np.ones(len(articles), bool)
    if articles:  # An article that spans two batches gets one row.
      is_new[0] = articles[0] != self._last_article
      self._last_article = articles[-1]
    first_row = self._num_articles - int(np.sum(~is_new))
    self._num_articles += int(np.sum(is_new))
    self.num_blocks += len(batch.hashes)
    batch = batch._replace(article_rows=batch.article_rows + first_row)
    for name, column in batch._asdict().items():
      if name in encoded_blocks.ARTICLE_COLUMNS:
        column = column.select(is_new)
      self._columns[name].extend(column)

  def close(self) -> str:
    """Returns the fingerprint, the SHA-256 of the blocks' content."""
    for column in self._columns.values():
      column.close()
    digest = self._columns['article_rows'].digest
    for name in block_table.COLUMNS:
      digest.update(self._columns[name].digest.digest())
    return digest.hexdigest()
