"""Follows a growing corpus: its new articles become live documents."""

from collections.abc import Iterator
import itertools
import os

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
    self._swap: hot_swap.HotSwap[str, block_table.BlockTable] = (
      hot_swap.HotSwap(self._newest, lambda _: self._follow())
    )

  def check(self) -> bool:
    """Applies a newer corpus in this thread; returns whether there is one."""
    newer = self._swap.find_newer()
    if newer is not None:
      self._swap.swap(newer)
    return newer is not None

  def close(self) -> None:
    """Ends a `check`; the server's next start makes the other changes."""
    self._is_closed = True

  def _newest(self) -> str | None:
    path = os.path.join(self._watched_dir, manifests.NAME)
    if not tf.io.gfile.exists(path):
      return None
    return block_table.fingerprint(self._watched_dir)

  def _follow(self) -> block_table.BlockTable:
    is_first = self._swap.version is None
    old = (
      block_table.BlockTable.open(self._corpus_dir)
      if is_first
      else self._swap.current
    )
    new = block_table.BlockTable.open(self._watched_dir)
    number = 0
    changes = self._changes(old, new)
    while not self._is_closed:
      change = dict(itertools.islice(changes, _ARTICLES_AT_ONCE))
      if not change:
        break
      self._writer.submit(change).result()
      number += len(change)
    logging.info('Changed %d articles to follow %s.', number, self._watched_dir)
    return new

  def _changes(
    self, old: block_table.BlockTable, new: block_table.BlockTable
  ) -> Iterator[tuple[str, changes_lib.Document | None]]:
    """Yields the necessary changes from the articles of `old` to `new`.

    A document is cut into the same blocks as its article.
    """
    for article_id in dict.fromkeys(old.all_article_ids()):
      is_gone = not new.find_article(article_id).size
      if is_gone and self._writer.edits.knows(article_id):
        yield article_id, None
    for article_id in dict.fromkeys(new.all_article_ids()):
      ids, known = new.find_article(article_id), old.find_article(article_id)
      if not np.array_equal(new.hashes[ids], old.hashes[known]):
        title, text = new.titles(ids[:1])[0], '\n'.join(new.texts(ids))
        document = changes_lib.Document(article_id, title, text)
        if self._writer.edits.documents.get(article_id) != document:
          yield article_id, document
