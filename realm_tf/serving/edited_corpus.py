"""A corpus with changed texts and documents, in memory, and its search.

Appendix C of Guu et al. 2020, live: a changed block is embedded again, its
words are counted, and answers follow without any training. Documents are cut as
bin.make_blocks cuts articles; their blocks get ids after the ids of the corpus.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses
from typing import Any, NamedTuple, cast

import numpy as np

from realm_tf import interfaces
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.index import embedding
from realm_tf.index import exact_search
from realm_tf.index import model_files
from realm_tf.index import searcher as searcher_lib
from realm_tf.retrieval import word_search
from realm_tf.serving import changes as changes_lib
from realm_tf.text import wordpiece

_BATCH_WORDPIECES = 4096
_NONE = np.zeros(0, np.int64)  # No block.


class Prepared(NamedTuple):
  """A change with cut and embedded blocks that no search finds yet.

  Attributes:
    block_ids: Id of each added document -> the ids of its blocks, int64.
    embeddings: Of all these blocks, float32 [n, D].
    words: Of the same blocks, as `LiveBm25.words` counts them.
  """

  change: changes_lib.Change
  block_ids: dict[str, np.ndarray]
  embeddings: np.ndarray
  words: np.ndarray


class EditedCorpus:
  """The edits and live documents of one opened model.

  Without an index only words find blocks. `prepare` may run while questions are
  answered; other changing methods may not.

  Attributes:
    table: The corpus with its changes.
    documents: Added documents by their ids.
    removed: Ids of removed or replaced articles of the corpus, in the order of
      their removal (a dictionary as an ordered set).
    num_blocks: Number of blocks that a search can find.
    words: The search by words.
  """

  def __init__(
    self,
    loaded: model_files.OpenModel,
    build_words: Callable[[], word_search.Bm25Retriever],
  ):
    self._base, self._loaded = loaded.table, loaded
    self.num_blocks = loaded.table.num_blocks
    # Blocks of the corpus with another text or none: no search shows them.
    self._is_hidden = np.zeros([self.num_blocks], bool)
    self.words = word_search.LiveBm25(build_words, self._is_hidden)
    self._embed_blocks = embedding.opener(
      loaded.model, loaded.tokenizer.special_ids, loaded.config.index
    )()
    index: Any = loaded.index and loaded.index.searcher
    self._search = LiveSearch(index, self._is_hidden)
    self._block_ids: dict[str, np.ndarray] = {}  # By id in `documents`.
    self.table = EditedTable(loaded.table, loaded.tokenizer)
    # `EditedTable` has every method of `BlockTable` that its users call.
    self._as_table = cast(block_table.BlockTable, self.table)
    self.documents: dict[str, changes_lib.Document] = {}
    self.removed: dict[str, None] = {}

  @property
  def opened(self) -> model_files.OpenModel:
    """The model with this corpus and with a search that finds the changes."""
    index = self._loaded.index
    return dataclasses.replace(
      self._loaded,
      table=self._as_table,
      index=index and index._replace(searcher=self._search),
    )

  def can_change(self, block_id: int) -> bool:
    """Whether the block belongs to the corpus and was not removed."""
    if not 0 <= block_id < self._base.num_blocks:
      return False
    return self._base.article_ids([block_id])[0] not in self.removed

  def is_own(self, article_id: str) -> bool:
    """Whether the corpus itself has an article of this id, removed or not."""
    return self._base.find_article(article_id).size > 0

  def knows(self, article_id: str) -> bool:
    """Whether a search can find a document or an article of this id."""
    return article_id in self.documents or (
      self.is_own(article_id) and article_id not in self.removed
    )

  def article_blocks(self, block_id: int) -> np.ndarray:
    """Returns all blocks of a block's article or document, or none, int64."""
    if self.can_change(block_id):
      return self._base.article_blocks(block_id)
    added = self.table.added.get(block_id)
    ids = self._block_ids.get(added.article_id, _NONE) if added else _NONE
    return ids if block_id in ids else _NONE

  def titles(self) -> list[tuple[str, int]]:
    """Returns the titles of the documents, with their first blocks."""
    return [
      (document.title, int(self._block_ids[article_id][0]))
      for article_id, document in self.documents.items()
      if self._block_ids[article_id].size
    ]

  def change(self, block_id: int, text: str | None) -> None:
    """Changes a block's text for all searches; None restores its own text."""
    self.table.change(block_id, text)
    ids = np.array([block_id])
    self._take_out(ids, is_hidden=text is not None)
    if text is not None:
      self._put(ids, self._embeddings(ids), self._words(ids))

  def prepare(self, change: changes_lib.Change) -> Prepared:
    """Cuts and embeds the added documents, and counts their words."""
    block_ids = {
      article_id: self.table.append(
        sources.Article(each.title, each.text, article_id)
      )
      for article_id, each in change.items()
      if each
    }
    ids = np.concatenate([_NONE, *block_ids.values()])
    return Prepared(change, block_ids, self._embeddings(ids), self._words(ids))

  def forget(self, prepared: Prepared) -> None:
    """Frees the blocks of a refused change."""
    for ids in prepared.block_ids.values():
      self.table.remove(ids)

  def apply(self, prepared: Prepared) -> None:
    """Adds and removes documents for all later searches."""
    change, block_ids, embeddings, words = prepared
    gone = np.concatenate([_NONE, *map(self._remove, change)])
    self.documents |= {i: each for i, each in change.items() if each}
    self._block_ids |= block_ids
    new = np.concatenate([_NONE, *block_ids.values()])
    self.num_blocks += len(new) - len(gone)
    self._take_out(gone)
    if len(new):
      self._put(new, embeddings, words)

  def become(self, in_force: changes_lib.Change) -> None:
    """Takes over all documents of `in_force`; embeds only different ones."""
    wanted = {**dict.fromkeys(self.documents), **in_force}
    self.apply(
      self.prepare(
        {
          article_id: document
          for article_id, document in wanted.items()
          if self.documents.get(article_id) != document
          or (document is None and article_id not in self.removed)
        }
      )
    )

  def adopt(self, other: 'EditedCorpus') -> None:
    """Takes over all documents and texts of `other` that are different."""
    self.become(other.documents | dict.fromkeys(other.removed))
    texts = {i: block.text for i, block in dict(other.table.changed).items()}
    for block_id in texts.keys() | self.table.changed.keys():
      own, text = self.table.changed.get(block_id), texts.get(block_id)
      if text != (own and own.text) and self.can_change(block_id):
        self.change(block_id, text)

  def warm(self) -> None:
    """Compiles and reads ahead what would delay the first change by seconds."""
    self._embeddings(np.array([0]))
    self._base.find_article('')  # Maps all articles to their blocks.

  def _remove(self, article_id: str) -> np.ndarray:
    """Forgets a document or article; returns the blocks that it had."""
    self.documents.pop(article_id, None)
    gone = self._block_ids.pop(article_id, _NONE)
    self.table.remove(gone)
    own = self._base.find_article(article_id)
    if article_id in self.removed or not own.size:
      return gone
    self.removed[article_id] = None
    for block_id in map(int, own):
      self.table.change(block_id, None)
    return np.concatenate([gone, own])

  def _take_out(self, ids: np.ndarray, is_hidden: bool = True) -> None:
    """Removes blocks from all searches; own ones come back if not hidden."""
    self._is_hidden[ids[ids < len(self._is_hidden)]] = is_hidden
    self._search.remove(ids)
    self.words.remove(ids)

  def _put(
    self, ids: np.ndarray, embeddings: np.ndarray, words: np.ndarray
  ) -> None:
    """Lets all searches find blocks that they do not have."""
    self._search.put(ids, embeddings)
    self.words.put(ids, words)

  def _embeddings(self, block_ids: np.ndarray) -> np.ndarray:
    if not (block_ids.size and self._loaded.index):
      return np.zeros([len(block_ids), 0], np.float32)
    lengths = self._loaded.config.lengths
    return embedding.embed_blocks(
      self._embed_blocks,
      self._as_table,
      block_ids,
      lengths,
      batch_size=max(1, _BATCH_WORDPIECES // lengths.block_tokens),
    )

  def _words(self, block_ids: np.ndarray) -> np.ndarray:
    titles, texts = (
      read(block_ids.tolist()) for read in (self.table.titles, self.table.texts)
    )
    return self.words.words(block_ids, titles, texts)


class EditedTable:
  """The part of a `BlockTable` that answering uses, with changes.

  Attributes:
    added: Block id -> the added block.
    changed: Block id -> the block with its new text, for blocks of the corpus.
    num_blocks: Number of ids in use so far, with removed blocks; no id is used
      twice.
  """

  def __init__(
    self, table: block_table.BlockTable, tokenizer: wordpiece.WordpieceTokenizer
  ):
    self._table = table
    self._tokenizer = tokenizer
    self.added: dict[int, blocks_lib.Block] = {}
    self.changed: dict[int, blocks_lib.Block] = {}
    self.num_blocks = table.num_blocks
    self.manifest = table.manifest

  def append(self, article: sources.Article) -> np.ndarray:
    """Adds the blocks of an article; returns their ids, int64 [n]."""
    start, longest = self.num_blocks, self.manifest['max_block_wordpieces']
    for part in blocks_lib.batches([article]):
      for block in blocks_lib.cut_batch(part, self._tokenizer, longest):
        self.added[self.num_blocks] = block
        self.num_blocks += 1
    return np.arange(start, self.num_blocks)

  def remove(self, ids: Iterable[int]) -> None:
    """Frees added blocks; a later read of them fails."""
    for block_id in ids:
      del self.added[int(block_id)]

  def change(self, block_id: int, text: str | None) -> None:
    """Changes the text of a block of the corpus; None restores its own."""
    self.changed.pop(block_id, None)
    if text is not None:
      (title,) = self._table.titles([block_id])
      article = sources.Article(title, text, '')
      (block,) = blocks_lib.cut_batch([article], self._tokenizer, None)
      longest = self.manifest['max_block_wordpieces'] // 2  # Of a title.
      self.changed[block_id] = block._replace(
        title_ids=block.title_ids[:longest]
      )

  def titles(self, ids: Sequence[int]) -> list[str]:
    own = self._table.titles(self._own(ids))
    return [
      block.title if (block := self._block(i)) else title
      for i, title in zip(ids, own)
    ]

  def texts(self, ids: Sequence[int]) -> list[str]:
    own = self._table.texts(self._own(ids))
    return [
      block.text if (block := self._block(i)) else text
      for i, text in zip(ids, own)
    ]

  def article_ids(self, ids: Sequence[int]) -> list[str]:
    own = self._table.article_ids(self._own(ids))
    return [
      self.added[i].article_id if i in self.added else article_id
      for i, article_id in zip(ids, own)
    ]

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the result of `BlockTable.gather`, with the changes."""
    own = self._table.gather(self._own(ids), title_length, body_length)
    titles, bodies = map(np.array, own)
    for place, block in self._new_blocks(ids):
      for row, wordpieces in (
        (titles[place], block.title_ids),
        (bodies[place], block.body_ids),
      ):
        row[:] = 0
        row[: len(wordpieces)] = wordpieces[: len(row)]
    return titles, bodies

  def lengths(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the result of `BlockTable.lengths`, with the changes."""
    titles, bodies = map(np.array, self._table.lengths(self._own(ids)))
    for place, block in self._new_blocks(ids):
      titles[place], bodies[place] = len(block.title_ids), len(block.body_ids)
    return titles, bodies

  def _own(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns `ids`, with 0 for added blocks."""
    ids = np.asarray(ids, np.int64)
    return np.where(ids < self._table.num_blocks, ids, 0)

  def _block(self, block_id: int) -> blocks_lib.Block | None:
    """Returns an added or changed block; None for an own one of the corpus."""
    is_own = block_id < self._table.num_blocks
    number = int(block_id)
    return self.changed.get(number) if is_own else self.added[number]

  def _new_blocks(
    self, ids: np.ndarray
  ) -> Iterator[tuple[tuple[int, ...], blocks_lib.Block]]:
    """Yields the place and the block of each added or changed one."""
    for place, block_id in np.ndenumerate(ids):
      if block := self._block(block_id):
        yield place, block


class LiveSearch:
  """A searcher over an index of the corpus, and over changed blocks.

  The index still has the old embeddings of changed and removed blocks, so hits
  on them are hidden: `is_hidden`, bool [N], which its owner changes.
  """

  def __init__(self, index: interfaces.Searcher, is_hidden: np.ndarray):
    self._index, self._is_hidden = index, is_hidden
    self._ids = np.zeros([0], np.int64)
    self._embeddings = np.zeros([0, 0], np.float32)

  def put(self, ids: np.ndarray, embeddings: np.ndarray) -> None:
    """Adds blocks that are not there, with embeddings [n, D]."""
    if len(self._ids):
      embeddings = np.concatenate([self._embeddings, embeddings])
    self._ids = np.concatenate([self._ids, ids])
    self._embeddings = embeddings

  def remove(self, ids: np.ndarray) -> None:
    """Removes the changed blocks among `ids`."""
    kept = ~np.isin(self._ids, ids)
    if not kept.all():
      self._ids, self._embeddings = self._ids[kept], self._embeddings[kept]

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    """Returns the best `k` of all blocks, [B, k]."""
    ids, scores = self._search_index(queries, k)
    if len(self._ids):
      changed = exact_search.BruteForceSearcher(self._embeddings).search(
        queries, k
      )
      ids = np.concatenate([ids, self._ids[changed.block_ids]], axis=1)
      scores = np.concatenate([scores, changed.scores], axis=1)
    order = np.lexsort([ids, -scores], axis=1)[:, :k]
    best = searcher_lib.mark_missing(
      np.take_along_axis(ids, order, axis=1),
      np.take_along_axis(scores, order, axis=1),
    )
    return searcher_lib.fill(best, k)

  def _search_index(
    self, queries: np.ndarray, k: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Doubles the search until each query has `k` hits that are not hidden."""
    number, num_blocks = k, len(self._is_hidden)
    while True:
      ids, scores = searcher_lib.fill(
        self._index.search(queries, number), number
      )
      is_left = (ids >= 0) & ~self._is_hidden[np.maximum(ids, 0)]
      is_enough = (is_left.sum(axis=1) >= k) | (ids < 0).any(axis=1)
      if is_enough.all() or number >= num_blocks:
        return ids, np.where(is_left, scores, -np.inf)
      number = min(2 * number, num_blocks)
