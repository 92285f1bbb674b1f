"""Writes corpus directories: encoded blocks -> columns, links, manifest.

manifest.json   schema_version, num_blocks, vocabulary_sha256, source, files,
                corpus_fingerprint, max_block_wordpieces, code
vocab.txt       vocabulary; tokenizer_config.json has non-default rules
table/          blocks, memory-mapped (data/block_table.py)
links/          links between articles, optional (data/link_graph.py)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import itertools
import os
from typing import Any, Optional

import numpy as np

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import parallel
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import link_graph
from realm_tf.run import outputs
from realm_tf.run import run_lock
from realm_tf.text import tokenizer_files
from realm_tf.text import wordpiece


def cut(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: Optional[int],
  num_workers: int = 1,
) -> Iterator[block_table.EncodedBlocks]:
  """Yields the blocks of all `articles`, in order, duplicates included.

  Args:
    articles: Articles, read a few batches ahead.
    max_block_wordpieces: Upper bound of 3 + title + body; None makes each
      article one block, with its text unchanged.
    num_workers: Number of processes; 1 cuts in this process.
  """
  return parallel.ordered_map(
    cutter,
    (tokenizer, max_block_wordpieces),
    blocks_lib.batches(articles),
    num_workers,
  )


def cutter(
  tokenizer: wordpiece.WordpieceTokenizer, max_block_wordpieces: Optional[int]
) -> Callable[[Sequence[sources.Article]], block_table.EncodedBlocks]:
  """Returns a function that cuts a batch; one in each worker of `cut`."""
  return lambda articles: block_table.encode(
    list(blocks_lib.cut_batch(articles, tokenizer, max_block_wordpieces))
  )


def without_duplicates(
  batches: Iterable[block_table.EncodedBlocks],
  counts: counts_lib.Counts,
  known: Optional[np.ndarray] = None,
) -> Iterator[block_table.EncodedBlocks]:
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
  batches: Iterable[block_table.EncodedBlocks],
  output_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  source: dict[str, Any],
  max_block_wordpieces: int,
  links: Optional[link_graph.CorpusLinks] = None,
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
      code=run_lock.code(),
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

  def extend(self, batch: block_table.EncodedBlocks) -> None:
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
      if name in block_table.ARTICLE_COLUMNS:
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


_BATCH_BLOCKS = 4096
_COUNTS = json_text.optional(dict[str, json_text.COUNT])
_SOURCE = {
  'kept': _COUNTS,
  'left_out': _COUNTS,
  'made_from': json_text.optional(dict),
}
_ADVICE = f'Make it again with {block_table.KIND.made_by}.'


class CorpusUpdate:
  """A new corpus made from an old one, which does not change.

  Block ids before the first removed block stay; new blocks come last. Queries
  then find their own blocks by content (`query_table.QueryTable.fit_corpus`).

  Args:
    removed_ids: Ids of articles to leave out, each one or several with commas.

  Attributes:
    num_articles: Number of articles in the old corpus's sources.
    links: Links of the old corpus, to extend; None if it has none.
  """

  def __init__(self, corpus_dir: str, removed_ids: Sequence[str]):
    self._dir = corpus_dir
    self.tokenizer = wordpiece.WordpieceTokenizer.from_file(
      os.path.join(corpus_dir, 'vocab.txt')
    )
    self._table = block_table.BlockTable.open(corpus_dir, verify=True)
    self.manifest = self._table.manifest
    run_lock.tell_of_other_code(corpus_dir, self.manifest.get('code', ''))
    self._is_kept = np.ones(self._table.num_blocks, bool)
    for value in removed_ids:
      is_id = len(self._table.find_article(value)) > 0
      for article_id in [value] if is_id else filter(None, value.split(',')):
        rows = self._table.find_article(article_id)
        if not len(rows):
          raise errors.UserError(
            f'--remove must name articles of {self._dir}. Found none with id '
            f'{article_id!r}. Leave this id out.'
          )
        self._is_kept[rows] = False
    links = self.manifest.get('links')
    self.links = links and link_graph.CorpusLinks(links['kind'], corpus_dir)
    self.num_articles = _num_articles(self.manifest['source'])

  def find(self, article_id: str) -> str:
    """Returns the old corpus's directory if it keeps an article, else ''."""
    is_kept = self._is_kept[self._table.find_article(article_id)]
    return self._dir if is_kept.any() else ''

  def write(
    self,
    batches: Iterable[block_table.EncodedBlocks],
    output_dir: str,
    *,
    source: dict[str, Any],
    counts: counts_lib.Counts,
  ) -> dict[str, Any]:
    """Writes the kept blocks and the new blocks; returns the manifest."""
    size, known = self._table.num_blocks, self._table.hashes[self._is_kept]
    counts.drop('removed block', int(np.sum(~self._is_kept)))
    new = without_duplicates(batches, counts, known)
    kept = (
      self._table.encoded(i, min(i + _BATCH_BLOCKS, size)).select(
        self._is_kept[i : i + _BATCH_BLOCKS]
      )
      for i in range(0, size, _BATCH_BLOCKS)
    )
    return write(
      itertools.chain(kept, map(self._checked, new)),
      output_dir,
      self.tokenizer,
      source={**source, 'made_from': self.manifest['source']},
      max_block_wordpieces=self.manifest['max_block_wordpieces'],
      links=self.links,
    )

  def _checked(
    self, batch: block_table.EncodedBlocks
  ) -> block_table.EncodedBlocks:
    """Returns `batch`; UserError if the corpus keeps one of its articles."""
    for article_id, _ in batch.articles():
      if self.find(article_id):
        raise errors.UserError(
          f'--input must have new articles. Found {article_id!r:.40} there and '
          f'in {self._dir}. Give its id to --remove, too, to replace it.'
        )
    return batch


def _num_articles(source: dict[str, Any]) -> int:
  """Returns how many articles the sources numbered, dropped ones included."""
  number = 0
  while source:
    json_text.check(source, _SOURCE, "'source' of the corpus", _ADVICE)
    kept, left_out = source.get('kept', {}), source.get('left_out', {})
    number += counts_lib.num_articles(kept, left_out)
    source = source.get('made_from', {})
  return number
