"""A corpus with changed texts and documents, in memory, and its search.

Appendix C of Guu et al. 2020, live: a changed block is embedded again, and
answers follow without any training. Documents are cut as bin.make_blocks cuts
articles; their blocks get ids after the ids of the corpus.
"""

from collections.abc import Iterable, Sequence
import dataclasses
from typing import NamedTuple, Optional, cast

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.index import embedding
from realm_tf.index import exact_search
from realm_tf.index import model_files
from realm_tf.index import searcher as searcher_lib
from realm_tf.serving import changes as changes_lib
from realm_tf.text import wordpiece

_BATCH_WORDPIECES = 4096


class Prepared(NamedTuple):
  """A change with cut and embedded blocks that no search finds yet.

  `blocks` has ids, int64 [n], and embeddings, float32 [n, D], of the n blocks
  of each added document.
  """

  change: changes_lib.Change
  blocks: list[tuple[np.ndarray, np.ndarray]]


class EditedCorpus:
  """The edits and live documents of one opened model.

  `prepare` may run while questions are answered; other changing methods may
  not.

  Attributes:
    table: The corpus with its changes.
    documents: Added documents by their ids.
    removed: Ids of removed or replaced articles of the corpus, in the order of
      their removal (a dictionary as an ordered set).
    num_blocks: Number of blocks that a search can find.
  """

  def __init__(self, loaded: model_files.OpenModel):
    config, special_ids = loaded.config, loaded.tokenizer.special_ids
    self._base, self._tokenizer = loaded.table, loaded.tokenizer
    self._lengths = config.lengths
    self._embed_blocks = embedding.opener(
      loaded.model, special_ids, config.index
    )()
    self._loaded = loaded
    self._search = LiveSearch(loaded.index.searcher, loaded.table.num_blocks)
    self._block_ids: dict[str, np.ndarray] = {}  # By id in `documents`.
    self._gone: set[int] = set()  # Blocks of `removed`.
    self.table = EditedTable(loaded.table, loaded.tokenizer)
    # `EditedTable` has every method of `BlockTable` that its users call.
    self._as_table = cast(block_table.BlockTable, self.table)
    self.documents: dict[str, changes_lib.Document] = {}
    self.removed: dict[str, None] = {}
    self.num_blocks = loaded.table.num_blocks

  @property
  def opened(self) -> model_files.OpenModel:
    """The model with this corpus and with a search that finds the changes."""
    return dataclasses.replace(
      self._loaded,
      table=self._as_table,
      index=self._loaded.index._replace(searcher=self._search),
    )

  @property
  def in_force(self) -> changes_lib.Change:
    """One change with the effect of all changes of documents."""
    return changes_lib.Change([*self.documents.values()], [*self.removed])

  def can_change(self, block_id: int) -> bool:
    """Whether the block belongs to the corpus and was not removed."""
    is_own = 0 <= block_id < self._base.num_blocks
    return is_own and block_id not in self._gone

  def knows(self, article_id: str) -> bool:
    """Whether a search can find a document or an article of this id."""
    return article_id in self.documents or (
      article_id not in self.removed
      and self._base.find_article(article_id).size > 0
    )

  def article_blocks(self, block_id: int) -> np.ndarray:
    """Returns all blocks of a block's article or document, or none, int64."""
    if self.can_change(block_id):
      return self._base.article_blocks(block_id)
    documents = self._block_ids.values()
    return next((ids for ids in documents if block_id in ids), np.zeros(0, int))

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Changes and embeds a block's text; None restores its own text."""
    self.table.change(block_id, text)
    ids = np.array([block_id])
    if text is None:
      self._search.restore(ids)
    else:
      self._search.put(ids, self._embeddings(ids))

  def prepare(self, changes: Sequence[changes_lib.Change]) -> list[Prepared]:
    """Cuts and embeds the added documents of all changes at once."""
    ids = [self._append(each) for change in changes for each in change.add]
    if not ids:
      return [Prepared(change, []) for change in changes]
    embeddings = self._embeddings(np.concatenate(ids))
    ends = np.cumsum([len(part) for part in ids])[:-1]
    parts = zip(ids, np.split(embeddings, ends), strict=True)
    return [
      Prepared(change, [next(parts) for _ in change.add]) for change in changes
    ]

  def forget(self, prepared: Sequence[Prepared]) -> None:
    """Frees the blocks of refused changes."""
    for each in prepared:
      for ids, _ in each.blocks:
        self.table.remove(ids)

  def apply(self, prepared: Prepared) -> None:
    """Adds and removes documents for all later searches."""
    for article_id in prepared.change.remove:
      self._remove(article_id)
    for document, (ids, embeddings) in zip(
      prepared.change.add, prepared.blocks, strict=True
    ):
      self._remove(document.article_id)
      self.documents[document.article_id] = document
      self._block_ids[document.article_id] = ids
      self.num_blocks += len(ids)
      if len(ids):
        self._search.put(ids, embeddings)

  def become(self, in_force: changes_lib.Change) -> None:
    """Takes over all documents of `in_force`; embeds only different ones."""
    documents = {each.article_id: each for each in in_force.add}
    gone = [i for i in self.documents if i not in documents]
    gone += [i for i in in_force.remove if i not in self.removed]
    new = [d for i, d in documents.items() if self.documents.get(i) != d]
    if gone or new:
      self.apply(*self.prepare([changes_lib.Change(new, gone)]))

  def adopt(self, other: 'EditedCorpus') -> None:
    """Takes over all documents and texts of `other` that are different."""
    self.become(other.in_force)
    texts = dict(other.table.changed)
    for block_id in texts.keys() | self.table.changed.keys():
      text = texts.get(block_id)
      if text != self.table.changed.get(block_id) and self.can_change(block_id):
        self.change(block_id, text)

  def warm(self) -> None:
    """Compiles and reads ahead what would delay the first change by seconds."""
    self._embeddings(np.array([0]))
    self._base.find_article('')  # Maps all articles to their blocks.

  def _append(self, document: changes_lib.Document) -> np.ndarray:
    article = sources.Article(
      document.title, document.text, document.article_id
    )
    longest = self.table.manifest['max_block_wordpieces']
    return self.table.append(
      block
      for part in blocks_lib.batches([article])
      for block in blocks_lib.cut_batch(part, self._tokenizer, longest)
    )

  def _remove(self, article_id: str) -> None:
    self.documents.pop(article_id, None)
    added = self._block_ids.pop(article_id, ())
    self.num_blocks -= len(added)
    self._search.remove(added)
    self.table.remove(added)
    own = self._base.find_article(article_id)
    if article_id not in self.removed and own.size:
      self.removed[article_id] = None
      for block_id in map(int, own):
        self.table.change(block_id, None)
      self._gone.update(map(int, own))
      self.num_blocks -= len(own)
      self._search.remove(own)

  def _embeddings(self, block_ids: np.ndarray) -> np.ndarray:
    return embedding.embed_blocks(
      self._embed_blocks,
      self._as_table,
      block_ids,
      self._lengths,
      batch_size=max(1, _BATCH_WORDPIECES // self._lengths.block_tokens),
    )


class EditedTable:
  """The part of a `BlockTable` that answering uses, with changes.

  Attributes:
    changed: Block id -> new text, for blocks of the corpus.
    num_blocks: Number of ids in use so far, with removed blocks; no id is used
      twice.
  """

  def __init__(
    self, table: block_table.BlockTable, tokenizer: wordpiece.WordpieceTokenizer
  ):
    self._table = table
    self._tokenizer = tokenizer
    self._body_ids: dict[int, np.ndarray] = {}  # By id in `changed`.
    self._added: dict[int, blocks_lib.Block] = {}
    self.changed: dict[int, str] = {}
    self.num_blocks = table.num_blocks
    self.manifest = table.manifest

  def append(self, blocks: Iterable[blocks_lib.Block]) -> np.ndarray:
    """Adds blocks; returns their ids, int64 [n]."""
    start = self.num_blocks
    added = dict(enumerate(blocks, start))
    self._added.update(added)
    self.num_blocks += len(added)
    return np.arange(start, self.num_blocks)

  def remove(self, ids: Iterable[int]) -> None:
    """Frees added blocks; a later read of them fails."""
    for block_id in ids:
      del self._added[int(block_id)]

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Changes the text of a block of the corpus; None restores its own."""
    if text is None:
      self.changed.pop(block_id, None)
      self._body_ids.pop(block_id, None)
    else:
      (self._body_ids[block_id],) = self._tokenizer.token_ids_batch([text])
      self.changed[block_id] = text

  def titles(self, ids: Sequence[int]) -> list[str]:
    own = self._table.titles(self._own(ids))
    return [
      block.title if (block := self._block(i)) else title
      for i, title in zip(ids, own)
    ]

  def texts(self, ids: Sequence[int]) -> list[str]:
    own = self._table.texts(self._own(ids))
    return [
      block.text if (block := self._block(i)) else self.changed.get(i, text)
      for i, text in zip(map(int, ids), own)
    ]

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the result of `BlockTable.gather`, with the changes."""
    ids = np.asarray(ids)
    title_ids, body_ids = map(
      np.array, self._table.gather(self._own(ids), title_length, body_length)
    )
    for place in self._new_places(ids):
      title, body = self._wordpieces(ids[place])
      if title is not None:
        _set(title_ids[place], title)
      _set(body_ids[place], body)
    return title_ids, body_ids

  def lengths(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the result of `BlockTable.lengths`, with the changes."""
    ids = np.asarray(ids)
    titles, bodies = map(np.array, self._table.lengths(self._own(ids)))
    for place in self._new_places(ids):
      title, body = self._wordpieces(ids[place])
      if title is not None:
        titles[place] = len(title)
      bodies[place] = len(body)
    return titles, bodies

  def _own(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns `ids`, with 0 for added blocks."""
    ids = np.asarray(ids, np.int64)
    return np.where(ids < self._table.num_blocks, ids, 0)

  def _block(self, block_id: int) -> Optional[blocks_lib.Block]:
    """Returns an added block; None for a block of the corpus."""
    is_own = block_id < self._table.num_blocks
    return None if is_own else self._added[int(block_id)]

  def _new_places(self, ids: np.ndarray) -> list[tuple[int, ...]]:
    is_new = ids >= self._table.num_blocks
    is_new |= np.isin(ids, list(self._body_ids))
    return list(zip(*np.nonzero(is_new)))

  def _wordpieces(
    self, block_id: int
  ) -> tuple[Optional[np.ndarray], np.ndarray]:
    """Returns title and body of a new block; None: the corpus has the title."""
    block = self._block(block_id)
    if block:
      return block.title_ids, block.body_ids
    return None, self._body_ids[int(block_id)]


def _set(row: np.ndarray, wordpieces: np.ndarray) -> None:
  row[:] = 0
  row[: len(wordpieces)] = wordpieces[: len(row)]


class LiveSearch:
  """A searcher over an index of `num_blocks` blocks and over changed blocks.

  The index still has the old embeddings of changed and removed blocks, so hits
  on them are hidden.
  """

  def __init__(self, index: searcher_lib.Searcher, num_blocks: int):
    self._index = index
    self._is_hidden = np.zeros([num_blocks], bool)
    self._rows: dict[int, int] = {}  # Block id -> row in the two arrays.
    self._ids = np.zeros([0], np.int64)
    self._embeddings = np.zeros([0, 0], np.float32)

  def put(self, ids: np.ndarray, embeddings: np.ndarray) -> None:
    """Adds blocks, or replaces their embeddings, [n, D]."""
    self._reserve(len(self._rows) + len(ids), embeddings.shape[1])
    for block_id, vector in zip(map(int, ids), embeddings):
      row = self._rows.setdefault(block_id, len(self._rows))
      self._ids[row], self._embeddings[row] = block_id, vector
    self._hide(ids, True)

  def remove(self, ids: Iterable[int]) -> None:
    ids = np.fromiter(ids, np.int64)
    self._forget(ids)
    self._hide(ids, True)

  def restore(self, ids: np.ndarray) -> None:
    """Returns blocks of the index to their embeddings in the index."""
    self._forget(ids)
    self._hide(ids, False)

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Returns the best `k` of all blocks, [B, k]."""
    ids, scores = self._search_index(queries, k)
    if self._rows:
      changed = exact_search.BruteForceSearcher(
        self._embeddings[: len(self._rows)]
      ).search(queries, k)
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

  def _reserve(self, number: int, width: int) -> None:
    if number > len(self._ids):
      size = max(number, 2 * len(self._ids))
      embeddings = np.zeros([size, width], np.float32)
      if self._ids.size:
        embeddings[: len(self._ids)] = self._embeddings
      self._ids, self._embeddings = np.resize(self._ids, size), embeddings

  def _forget(self, ids: np.ndarray) -> None:
    for block_id in map(int, ids):
      row = self._rows.pop(block_id, None)
      last = len(self._rows)
      if row is not None and row != last:  # The last row fills the gap.
        self._ids[row] = self._ids[last]
        self._embeddings[row] = self._embeddings[last]
        self._rows[int(self._ids[row])] = row

  def _hide(self, ids: np.ndarray, is_hidden: bool) -> None:
    self._is_hidden[ids[ids < len(self._is_hidden)]] = is_hidden
