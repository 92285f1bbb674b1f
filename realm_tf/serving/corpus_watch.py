"""Follows a growing corpus: its new articles become live documents."""

from collections.abc import Iterator
import hashlib
import itertools
import os
from typing import NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf.data import block_table
from realm_tf.data import null_block
from realm_tf.retrieval import hot_swap
from realm_tf.run import manifests
from realm_tf.serving import changes as changes_lib
from realm_tf.serving import threads
from realm_tf.serving import writer as writer_lib

_ARTICLES_AT_ONCE = 16  # Articles in one change.


class Articles(NamedTuple):
  """The A articles of a corpus, in a form that is quick to compare.

  Attributes:
    keys: Hashes of the articles' ids, uint64 [A].
    digests: Sum of the hashes of each article's blocks, uint64 [A].
    first_blocks: Id of each article's first block, int64 [A].
  """

  table: block_table.BlockTable
  keys: np.ndarray
  digests: np.ndarray
  first_blocks: np.ndarray

  def article_id(self, row: int) -> str:
    return self.table.article_ids([self.first_blocks[row]])[0]

  def document(self, row: int) -> changes_lib.Document:
    """Returns an article as a document, which is cut into the same blocks."""
    article_id = self.article_id(row)
    ids = self.table.find_article(article_id)
    (title,) = self.table.titles(ids[:1])
    return changes_lib.Document(
      article_id, title, '\n'.join(self.table.texts(ids))
    )


def articles_of(table: block_table.BlockTable) -> Articles:
  """Returns the articles of an open corpus."""
  keys = [_hash(article_id) for article_id in table.all_article_ids()]
  starts = np.flatnonzero(np.diff(table.article_rows, prepend=-1))
  digests = np.add.reduceat(table.hashes, starts)
  return Articles(table, np.array(keys, np.uint64), digests, starts)


def compare(old: Articles, new: Articles) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of new or changed articles, and of removed ones.

  The first are rows of `new`, and the second are rows of `old`.
  """
  rows = block_table.find_hashes(new.keys, old.keys)
  is_known = rows != null_block.ID
  is_same = is_known & (old.digests[rows] == new.digests)
  is_gone = block_table.find_hashes(old.keys, new.keys) == null_block.ID
  return np.flatnonzero(~is_same), np.flatnonzero(is_gone)


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
    self._watcher: Optional[threads.Watcher] = None
    self._swap: hot_swap.HotSwap[str, Articles] = hot_swap.HotSwap(
      self._newest, self._follow
    )

  def watch(self, poll_secs: float) -> None:
    """Starts a thread that calls `check` every `poll_secs` until `close`."""
    self._watcher = threads.Watcher(self.check, poll_secs)

  def check(self) -> bool:
    """Applies a newer corpus in this thread; returns whether there is one."""
    newer = self._swap.find_newer()
    if newer is not None:
      self._swap.swap(newer)
    return newer is not None

  def close(self) -> None:
    """Stops; pending changes are made after the server's next start."""
    self._is_closed = True
    if self._watcher is not None:
      self._watcher.close()

  def _newest(self) -> Optional[str]:
    path = os.path.join(self._watched_dir, manifests.NAME)
    if not tf.io.gfile.exists(path):
      return None
    return block_table.fingerprint(self._watched_dir)

  def _follow(self, fingerprint: str) -> Articles:
    del fingerprint
    if self._swap.version is None:
      old = articles_of(block_table.BlockTable.open(self._corpus_dir))
    else:
      old = self._swap.current
    new = articles_of(block_table.BlockTable.open(self._watched_dir))
    number = 0
    for change in self._changes(old, new):
      if self._is_closed:
        break
      self._writer.submit(change).result()
      number += len(change.add) + len(change.remove)
    logging.info('Changed %d articles to follow %s.', number, self._watched_dir)
    return new

  def _changes(
    self, old: Articles, new: Articles
  ) -> Iterator[changes_lib.Change]:
    added, gone = compare(old, new)
    ids = filter(self._writer.knows, map(old.article_id, gone))
    documents = itertools.filterfalse(
      self._writer.holds, map(new.document, added)
    )
    while some := list(itertools.islice(ids, _ARTICLES_AT_ONCE)):
      yield changes_lib.Change([], some)
    while some := list(itertools.islice(documents, _ARTICLES_AT_ONCE)):
      yield changes_lib.Change(some)


def _hash(article_id: str) -> int:
  digest = hashlib.blake2b(article_id.encode(), digest_size=8).digest()
  return int.from_bytes(digest, 'little')
