"""Makes a corpus from another one by adding and removing articles.

Unchanged shards are linked, not copied. Block ids before the first removed
block stay; new blocks come last. Queries find their own blocks again by content
(`query_table.QueryTable.fit_corpus`).
"""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.records import block_table
from realm_tf.records import corpus_building
from realm_tf.records import corpus_links
from realm_tf.records import corpus_writer
from realm_tf.records import encoded_blocks
from realm_tf.records import shards
from realm_tf.rundir import json_shapes
from realm_tf.text import wordpiece

_BATCH_BLOCKS = 4096
_COUNTS = json_shapes.optional(json_shapes.map_of(json_shapes.COUNT))
_SOURCE = {
  'kept': _COUNTS,
  'left_out': _COUNTS,
  'made_from': json_shapes.optional(json_shapes.OBJECT),
}
_ADVICE = f'Make it again with {block_table.KIND.made_by}.'
_Batch = encoded_blocks.EncodedBlocks


class CorpusUpdate:
  """An update of a corpus, which itself does not change.

  Attributes:
    manifest: Manifest of the old corpus.
    tokenizer: Tokenizer of both corpora.
    num_articles: Articles that the old corpus was made from, including those
      that were left out.
    links: Links that go on from the old corpus; None if it has none.

  Raises:
    UserError: `corpus_dir` is no corpus, was changed, or lacks a removed id.
  """

  def __init__(self, corpus_dir: str, removed_ids: Sequence[str]):
    # An item is an id, or several with commas between them.
    self._dir = corpus_dir
    self.manifest = shards.read_manifest(corpus_dir)
    self.tokenizer = wordpiece.WordpieceTokenizer.from_file(
      os.path.join(corpus_dir, 'vocab.txt')
    )
    self._table = block_table.BlockTable.open(corpus_dir, verify=True)
    self._is_kept = np.ones(self.manifest.num_blocks, bool)
    for value in removed_ids:
      self._remove(value)
    self.links = corpus_links.CorpusLinks.of_corpus(
      corpus_dir, self._table.manifest
    )
    self.num_articles = _num_articles(self.manifest.source)

  def find(self, article_id: str) -> str:
    """Returns the directory that keeps blocks of an article; '' if none."""
    rows = self._table.find_article(article_id)
    return self._dir if self._is_kept[rows].any() else ''

  def _remove(self, value: str) -> None:
    """Removes the article of an id, which may have commas, or of several."""
    is_one = len(self._table.find_article(value)) > 0
    for article_id in [value] if is_one else filter(None, value.split(',')):
      rows = self._table.find_article(article_id)
      if not len(rows):
        raise errors.UserError(
          f'--remove must name articles of {self._dir}. Found none with id '
          f'{article_id!r}. Leave it out.'
        )
      self._is_kept[rows] = False

  def write(
    self,
    batches: Iterable[encoded_blocks.EncodedBlocks],
    output_dir: str,
    source: dict[str, Any],
    counts: counts_lib.Counts,
    max_shard_blocks: int,
  ) -> shards.CorpusManifest:
    """Writes the new corpus; see `shards.write_encoded`.

    Args:
      batches: New blocks; duplicates of kept blocks are left out.
      counts: Counts 'duplicate block' and 'removed block'.
    """
    known = self._table.hashes[self._is_kept]
    counts.drop('removed block', int(np.sum(~self._is_kept)))

    def fill(writer: corpus_writer.CorpusWriter):
      self._keep(writer)
      for batch in corpus_building.without_duplicates(batches, counts, known):
        self._check_new(batch)
        writer.extend(batch)

    return shards.write(
      fill,
      output_dir,
      self.tokenizer,
      {**source, 'made_from': self.manifest.source},
      max_shard_blocks,
      self.manifest.max_block_wordpieces,
      self.links,
    )

  def _check_new(self, batch: _Batch) -> None:
    """Raises UserError if an article of `batch` is in the corpus already."""
    for article_id, *_ in batch.articles:
      if self.find(article_id):
        raise errors.UserError(
          f'--input must have new articles. Found {article_id!r:.40} there and '
          f'in {self._dir}. Give its id to --remove, too, to replace it.'
        )

  def _keep(self, writer: corpus_writer.CorpusWriter) -> None:
    """Links unchanged shards and rewrites the others."""
    start = 0
    for shard, number in enumerate(self.manifest.shard_blocks):
      path = corpus_writer.shard_path(self._dir, shard)
      batches = self._read(path, start, number)
      if self._is_kept[start : start + number].all():
        writer.link(path, (batch for _, batch in batches))
      else:
        writer.end_shard()
        for is_kept, batch in batches:
          writer.extend(batch.select(is_kept))
      start += number
    writer.end_shard()

  def _read(self, path, start, number) -> Iterator[tuple[np.ndarray, _Batch]]:
    """Yields (bool [n] of kept blocks, the blocks), from row `start` on."""
    end = start + number
    records = tf.data.TFRecordDataset(path).as_numpy_iterator()
    while batch := list(itertools.islice(records, _BATCH_BLOCKS)):
      stop = start + len(batch)
      if stop > end:
        break
      yield self._is_kept[start:stop], self._table.encoded(start, batch)
      start = stop
    if batch or start != end:
      raise errors.UserError(
        f'{path} must have {number} blocks, as the manifest says. Found '
        f'{"more" if batch else "less"}. Make {self._dir} again.'
      )


def _num_articles(source: dict[str, Any]) -> int:
  """Returns the number of numbered articles, also of those left out."""
  number = 0
  while source:
    json_shapes.check(source, _SOURCE, "'source' of the corpus", _ADVICE)
    kept, left_out = source.get('kept', {}), source.get('left_out', {})
    number += counts_lib.num_articles(kept, left_out)
    source = source.get('made_from', {})
  return number
