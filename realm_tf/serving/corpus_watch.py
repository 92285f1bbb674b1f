"""Follows a corpus that grows: what it has gained becomes live documents.

make_blocks --append -> a newer corpus -> articles that differ -> `Service`
"""

from collections.abc import Iterator
import hashlib
import itertools
import os
from typing import NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf.records import block_table
from realm_tf.retrieval import hot_swap
from realm_tf.rundir import manifests
from realm_tf.serving import document_log
from realm_tf.serving import service as service_lib

_ARTICLES_AT_ONCE = 16  # Embedded together, between two batches of questions.


class Articles(NamedTuple):
  """The articles of a corpus, in a form that two corpora can be compared by.

  Attributes:
    table: The corpus.
    keys: Hashes of the articles' ids, uint64 [A].
    digests: Sums of the hashes of their blocks, uint64 [A].
    first_blocks: The first block of each, int64 [A].
  """

  table: block_table.BlockTable
  keys: np.ndarray
  digests: np.ndarray
  first_blocks: np.ndarray

  def article_id(self, row: int) -> str:
    return self.table.article_ids([self.first_blocks[row]])[0]

  def document(self, row: int) -> document_log.Document:
    """Returns an article; it is cut into the same blocks again."""
    article_id = self.article_id(row)
    ids = self.table.find_article(article_id)
    (title,) = self.table.titles(ids[:1])
    return document_log.Document(
      article_id, title, '\n'.join(self.table.texts(ids))
    )


def articles_of(table: block_table.BlockTable) -> Articles:
  """Returns the articles of an open corpus."""
  keys = [_hash(article_id) for article_id in table.all_article_ids()]
  starts = np.flatnonzero(np.diff(table.article_rows, prepend=-1))
  digests = np.add.reduceat(table.hashes, starts)
  return Articles(table, np.array(keys, np.uint64), digests, starts)


def compare(old: Articles, new: Articles) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of `new` that `old` lacks, and the reverse, by id.

  An article whose blocks differ is lacking in `old` only.
  """
  rows = block_table.find_hashes(new.keys, old.keys)
  is_known = rows != block_table.NOT_FOUND
  is_same = is_known & (old.digests[rows] == new.digests)
  is_gone = block_table.find_hashes(old.keys, new.keys) == block_table.NOT_FOUND
  return np.flatnonzero(~is_same), np.flatnonzero(is_gone)


class CorpusWatch:
  """Looks at a corpus directory again and again; ends with `close`.

  Documents that were posted stay, unless the corpus changes the same article.

  Args:
    service: A service with a log of documents.
    corpus_dir: The corpus that it serves.
    watched_dir: Where newer ones come, by `make_blocks --overwrite` or a
      rename; it need not be there yet.
  """

  def __init__(
    self, service: service_lib.Service, corpus_dir: str, watched_dir: str
  ):
    self._service, self._is_closed = service, False
    self._corpus_dir, self._watched_dir = corpus_dir, watched_dir
    self._swap: hot_swap.HotSwap[Articles] = hot_swap.HotSwap(
      self._newest, self._follow
    )
    self.check, self.watch = self._swap.check, self._swap.watch

  def close(self) -> None:
    """Ends; what was not followed yet is when the server starts again."""
    self._is_closed = True
    self._swap.close()

  def _newest(self) -> Optional[str]:
    path = os.path.join(self._watched_dir, manifests.NAME)
    if not tf.io.gfile.exists(path):
      return None
    return block_table.fingerprint(self._watched_dir)

  def _follow(self, fingerprint: str) -> Articles:
    """Brings the server to the watched corpus; done twice, it does nothing."""
    del fingerprint
    old = self._swap.current or articles_of(
      block_table.BlockTable.open(self._corpus_dir)
    )
    new = articles_of(block_table.BlockTable.open(self._watched_dir))
    added, gone = compare(old, new)
    number = 0
    for change in self._changes(old, new, added, gone):
      if self._is_closed:
        break
      self._service.change_documents(change).result()
      number += len(change.add) + len(change.remove)
    logging.info('Changed %d articles, as %s did.', number, self._watched_dir)
    return new

  def _changes(self, old, new, added, gone) -> Iterator[document_log.Change]:
    ids = filter(self._service.knows, map(old.article_id, gone))
    documents = itertools.filterfalse(
      self._service.holds, map(new.document, added)
    )
    while some := list(itertools.islice(ids, _ARTICLES_AT_ONCE)):
      yield document_log.Change([], some)
    while some := list(itertools.islice(documents, _ARTICLES_AT_ONCE)):
      yield document_log.Change(some)


def _hash(article_id: str) -> int:
  digest = hashlib.blake2b(article_id.encode(), digest_size=8).digest()
  return int.from_bytes(digest, 'little')
