"""A corpus with changed texts and documents, in memory.

  table, index, {block id: text}, changes of documents -> table, retriever

The live form of Appendix C of Guu et al. 2020: a fact is changed in the corpus,
its block is embedded again, and the answer follows, without any training.
Added documents are cut as bin.make_blocks cuts; their blocks have ids behind
those of the corpus, never used twice. `document_log` keeps documents on disk.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf.answering import loading
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import sources
from realm_tf.index import block_embeddings
from realm_tf.index import query_embeddings
from realm_tf.records import block_table
from realm_tf.serving import document_log
from realm_tf.serving import live_search
from realm_tf.text import wordpiece

MAX_EDITS = 100  # Blocks with a changed text.
_BATCH_BLOCKS = 16  # Of full length, embedded at once.


class EditedTable:
  """A `BlockTable` with some texts changed and blocks added.

  Attributes:
    changed: Block id -> text, of blocks of the corpus.
  """

  def __init__(
    self, table: block_table.BlockTable, tokenizer: wordpiece.WordpieceTokenizer
  ):
    self._table = table
    self._tokenizer = tokenizer
    self._body_ids: dict[int, np.ndarray] = {}
    self._added: list[blocks_lib.Block] = []
    self.changed: dict[int, str] = {}
    self.manifest = table.manifest

  @property
  def num_blocks(self) -> int:
    """Number of ids that were given to blocks, removed ones included."""
    return self._table.num_blocks + len(self._added)

  def append(self, blocks: Iterable[blocks_lib.Block]) -> np.ndarray:
    """Adds blocks and returns their ids, int64."""
    start = self.num_blocks
    self._added.extend(blocks)
    return np.arange(start, self.num_blocks)

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Gives a block another text; None restores its own."""
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
    """Gathers wordpieces as `BlockTable.gather` does, changes included."""
    ids = np.asarray(ids)
    title_ids, body_ids = map(
      np.array, self._table.gather(self._own(ids), title_length, body_length)
    )
    for place in self._places(ids):
      title, body = self._wordpieces(ids[place])
      if title is not None:
        _set(title_ids[place], title)
      _set(body_ids[place], body)
    return title_ids, body_ids

  def lengths(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths as `BlockTable.lengths` does; `ids` must be given."""
    ids = np.asarray(ids)
    titles, bodies = map(np.array, self._table.lengths(self._own(ids)))
    for place in self._places(ids):
      title, body = self._wordpieces(ids[place])
      if title is not None:
        titles[place] = len(title)
      bodies[place] = len(body)
    return titles, bodies

  def _own(self, ids):
    """Returns `ids` with 0 in place of those of added blocks."""
    ids = np.asarray(ids, np.int64)
    return np.where(ids < self._table.num_blocks, ids, 0)

  def _block(self, block_id):
    place = block_id - self._table.num_blocks
    return self._added[place] if place >= 0 else None

  def _places(self, ids):
    """Returns where `ids` has changed or added blocks."""
    is_new = ids >= self._table.num_blocks
    is_new |= np.isin(ids, list(self._body_ids))
    return list(zip(*np.nonzero(is_new)))

  def _wordpieces(self, block_id):
    block = self._block(block_id)
    if block:
      return block.title_ids, block.body_ids
    return None, self._body_ids[int(block_id)]


def _set(row: np.ndarray, wordpieces: np.ndarray) -> None:
  """Fills a row with wordpieces, cut or zero-padded."""
  row[:] = 0
  row[: len(wordpieces)] = wordpieces[: len(row)]


class Prepared(NamedTuple):
  """A change whose blocks are cut and embedded, but not yet found."""

  change: document_log.Change
  block_ids: dict[str, np.ndarray]
  embeddings: dict[str, np.ndarray]


class EditedCorpus:
  """The edits and live documents of one opened model.

  Not safe for threads: the thread that answers questions changes texts, too.

  Attributes:
    table: The corpus with its changes.
    retriever: A `RetrievalLayer` that finds changed blocks by their new
      embeddings, the others by the index.
    documents: Added documents by their ids.
    removed: Ids of the corpus' own articles that were removed or replaced.
  """

  def __init__(self, loaded: loading.Loaded):
    special_ids = loaded.tokenizer.special_ids
    self._base, self._tokenizer = loaded.table, loaded.tokenizer
    self._lengths = loaded.config.lengths
    self._embed = block_embeddings.compile_embedding(loaded.model, special_ids)
    self._search = live_search.LiveSearch(loaded.table.num_blocks)
    self._block_ids: dict[str, np.ndarray] = {}
    self.documents: dict[str, document_log.Document] = {}
    self.removed: dict[str, None] = {}
    self.table: Any = EditedTable(loaded.table, loaded.tokenizer)
    self._gone: set[int] = set()  # Blocks of `removed`.
    embed = query_embeddings.compile_any_size(
      loaded.model, self._lengths.query_tokens, special_ids
    )
    self.retriever: Any = lambda query_ids, k: self._search.search(
      lambda n: loaded.retriever(query_ids, n), lambda: embed(query_ids), k
    )

  @property
  def num_blocks(self) -> int:
    """Number of blocks that can be found."""
    added = sum(map(len, self._block_ids.values()))
    return self._base.num_blocks - len(self._gone) + added

  def can_change(self, block_id: int) -> bool:
    """Whether it is a block of the corpus that was not removed."""
    is_own = 0 <= block_id < self._base.num_blocks
    return is_own and block_id not in self._gone

  def knows(self, article_id: str) -> bool:
    """Whether a document of this id can be found."""
    return article_id in self.documents or (
      article_id not in self.removed
      and self._base.find_article(article_id).size
    )

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Changes the text of a block and embeds it again; see `EditedTable`."""
    self.table.change(block_id, text)
    ids = np.array([block_id])
    if text is None:
      self._search.restore(ids)
    else:
      self._search.put(ids, self._embedding(ids))

  def prepare(self, change: document_log.Change) -> Prepared:
    """Cuts and embeds the added documents; nothing is found by it yet."""
    block_ids = {}
    for document in change.add:
      article = sources.Article(
        document.title, document.text, document.article_id
      )
      parts = blocks_lib.batches([article])
      block_ids[document.article_id] = self.table.append(
        block
        for part in parts
        for block in blocks_lib.cut_batch(
          part, self._tokenizer, self.table.manifest['max_block_wordpieces']
        )
      )
    if not block_ids:
      return Prepared(change, {}, {})
    ids = [*block_ids.values()]
    embeddings = self._embedding(np.concatenate(ids))
    ends = np.cumsum([len(part) for part in ids])[:-1]
    parts = np.split(embeddings, ends)
    return Prepared(change, block_ids, dict(zip(block_ids, parts)))

  def apply(self, prepared: Prepared) -> None:
    """Lets the documents be found, or no longer; an id's last one wins."""
    for article_id in prepared.change.remove:
      self._remove(article_id)
    for document in prepared.change.add:
      article_id = document.article_id
      self._remove(article_id)
      self.documents[article_id] = document
      self._block_ids[article_id] = prepared.block_ids[article_id]
      if len(prepared.block_ids[article_id]):
        self._search.put(
          prepared.block_ids[article_id], prepared.embeddings[article_id]
        )

  def _remove(self, article_id: str) -> None:
    self.documents.pop(article_id, None)
    self._search.remove(self._block_ids.pop(article_id, ()))
    own = self._base.find_article(article_id)
    if article_id not in self.removed and own.size:
      self.removed[article_id] = None
      for block_id in map(int, own):
        self.table.change(block_id, None)
      self._gone.update(map(int, own))
      self._search.remove(own)

  def replay(self, changes: Sequence[document_log.Change]) -> None:
    """Applies changes of a log, embedding only the documents that remain."""
    documents: dict[str, document_log.Document] = {}
    removed: dict[str, None] = {}
    for change in changes:
      for article_id in change.remove:
        documents.pop(article_id, None)
        removed[article_id] = None
      for document in change.add:
        documents.pop(document.article_id, None)
        documents[document.article_id] = document
    self._apply_all(removed, documents.values())

  def _apply_all(self, removed, documents):
    change = document_log.Change(list(documents), list(removed))
    if change.add or change.remove:
      self.apply(self.prepare(change))

  def warm(self) -> None:
    """Compiles the embedding of a block, which takes a second or two."""
    self._embedding(np.array([0]))

  def _embedding(self, block_ids: np.ndarray) -> np.ndarray:
    return block_embeddings.embed_blocks(
      self._embed, self.table, block_ids, self._lengths, _BATCH_BLOCKS
    )

  def adopt(self, other: 'EditedCorpus') -> None:
    """Takes over the texts and documents of `other`, of the same corpus.

    What is the same already costs nothing.
    """
    theirs = dict(other.documents)  # The other may change meanwhile.
    gone = [i for i in [*self.documents] if i not in theirs]
    gone += [i for i in [*other.removed] if i not in self.removed]
    new = [d for i, d in theirs.items() if self.documents.get(i) != d]
    self._apply_all(gone, new)
    self._adopt_texts(dict(other.table.changed))

  def _adopt_texts(self, changed: Mapping[int, str]) -> None:
    for block_id in set(changed) | set(self.table.changed):
      text = changed.get(block_id)
      if text != self.table.changed.get(block_id) and self.can_change(block_id):
        self.change(block_id, text)
