"""Makes a corpus from another one by adding and removing articles.

Block ids before the first removed block stay; new blocks come last. Queries
then find their own blocks by content (`query_table.QueryTable.fit_corpus`).
"""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import os
from typing import Any

import numpy as np

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.data import corpus_links
from realm_tf.data import encoded_blocks
from realm_tf.run import json_shapes
from realm_tf.text import wordpiece

_BATCH_BLOCKS = 4096
_COUNTS = json_shapes.optional(json_shapes.map_of(json_shapes.COUNT))
_SOURCE = {
  'kept': _COUNTS,
  'left_out': _COUNTS,
  'made_from': json_shapes.optional(json_shapes.OBJECT),
}
_ADVICE = f'Make it again with {block_table.KIND.made_by}.'


class CorpusUpdate:
  """A new corpus made from an old one, which does not change.

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
    self._is_kept = np.ones(self._table.num_blocks, bool)
    for value in removed_ids:
      self._remove(value)
    self.links = corpus_links.CorpusLinks.of_corpus(corpus_dir, self.manifest)
    self.num_articles = _num_articles(self.manifest['source'])

  def find(self, article_id: str) -> str:
    """Returns the old corpus's directory if it keeps an article, else ''."""
    rows = self._table.find_article(article_id)
    return self._dir if self._is_kept[rows].any() else ''

  def _remove(self, value: str) -> None:
    """Removes the article with this id, or with each id between its commas."""
    is_one = len(self._table.find_article(value)) > 0
    for article_id in [value] if is_one else filter(None, value.split(',')):
      rows = self._table.find_article(article_id)
      if not len(rows):
        raise errors.UserError(
          f'--remove must name articles of {self._dir}. Found none with id '
          f'{article_id!r}. Leave this id out.'
        )
      self._is_kept[rows] = False

  def write(
    self,
    batches: Iterable[encoded_blocks.EncodedBlocks],
    output_dir: str,
    *,
    source: dict[str, Any],
    counts: counts_lib.Counts,
  ) -> dict[str, Any]:
    """Writes the kept blocks and the new blocks; returns the manifest."""
    known = self._table.hashes[self._is_kept]
    counts.drop('removed block', int(np.sum(~self._is_kept)))
    new = corpus_files.without_duplicates(batches, counts, known)
    return corpus_files.write(
      itertools.chain(self._kept(), map(self._checked, new)),
      output_dir,
      self.tokenizer,
      source={**source, 'made_from': self.manifest['source']},
      max_block_wordpieces=self.manifest['max_block_wordpieces'],
      links=self.links,
    )

  def _kept(self) -> Iterator[encoded_blocks.EncodedBlocks]:
    for start in range(0, self._table.num_blocks, _BATCH_BLOCKS):
      is_kept = self._is_kept[start : start + _BATCH_BLOCKS]
      batch = self._table.encoded(start, start + len(is_kept))
      yield batch.select(is_kept)

  def _checked(
    self, batch: encoded_blocks.EncodedBlocks
  ) -> encoded_blocks.EncodedBlocks:
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
    json_shapes.check(source, _SOURCE, "'source' of the corpus", _ADVICE)
    kept, left_out = source.get('kept', {}), source.get('left_out', {})
    number += counts_lib.num_articles(kept, left_out)
    source = source.get('made_from', {})
  return number
