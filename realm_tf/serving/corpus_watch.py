"""Follows a growing corpus: its new articles become live documents."""

from collections.abc import Iterator
import itertools
import os
from typing import Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf.data import block_table
from realm_tf.retrieval import hot_swap
from realm_tf.run import manifests
from realm_tf.serving import changes as changes_lib
from realm_tf.serving import writer as writer_lib

_ARTICLES_AT_ONCE = 16  # Articles in one change.


class CorpusWatch:
  """Makes a server's corpus equal to the newest one in `watched_dir`, if any.

  Posted documents stay, unless the watched corpus changes the same article.
  """

  def __init__(
    self, writer: writer_lib.Writer, corpus_dir: str, watched_dir: str
  ):
    self._writer = writer
    self._corpus_dir, self._watched_dir = corpus_dir, watched_dir
    self._is_closed = False
    self._swap: hot_swap.HotSwap[str, block_table.BlockTable]
    self._swap = hot_swap.HotSwap(self._newest, self._follow)

  def check(self) -> bool:
    """Applies a newer corpus in this thread; returns whether there is one."""
    newer = self._swap.find_newer()
    if newer is not None:
      self._swap.swap(newer)
    return newer is not None

  def close(self) -> None:
    """Ends a `check`; the server's next start makes the other changes."""
    self._is_closed = True

  def _newest(self) -> Optional[str]:
    path = os.path.join(self._watched_dir, manifests.NAME)
    if not tf.io.gfile.exists(path):
      return None
    return block_table.fingerprint(self._watched_dir)

  def _follow(self, fingerprint: str) -> block_table.BlockTable:
    del fingerprint
    if self._swap.version is None:
      old = block_table.BlockTable.open(self._corpus_dir)
    else:
      old = self._swap.current
    new = block_table.BlockTable.open(self._watched_dir)
    number = 0
    for change in self._changes(old, new):
      if self._is_closed:
        break
      self._writer.submit(change).result()
      number += len(change.add) + len(change.remove)
    logging.info('Changed %d articles to follow %s.', number, self._watched_dir)
    return new

  def _changes(
    self, old: block_table.BlockTable, new: block_table.BlockTable
  ) -> Iterator[changes_lib.Change]:
    """Yields the necessary changes from the articles of `old` to `new`."""
    gone = (
      each
      for each in dict.fromkeys(old.all_article_ids())
      if not new.find_article(each).size and self._writer.edits.knows(each)
    )
    added = (
      each
      for each in _different(old, new)
      if self._writer.edits.documents.get(each.article_id) != each
    )
    while ids := list(itertools.islice(gone, _ARTICLES_AT_ONCE)):
      yield changes_lib.Change([], ids)
    while documents := list(itertools.islice(added, _ARTICLES_AT_ONCE)):
      yield changes_lib.Change(documents)


def _different(
  old: block_table.BlockTable, new: block_table.BlockTable
) -> Iterator[changes_lib.Document]:
  """Yields the articles of `new` that `old` lacks or has with other blocks.

  A document is cut into the same blocks as its article.
  """
  for article_id in dict.fromkeys(new.all_article_ids()):
    ids, known = new.find_article(article_id), old.find_article(article_id)
    if not np.array_equal(new.hashes[ids], old.hashes[known]):
      text = '\n'.join(new.texts(ids))
      yield changes_lib.Document(article_id, new.titles(ids[:1])[0], text)
