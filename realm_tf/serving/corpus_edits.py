"""A corpus with changed texts and documents, in memory.

  table, index, {block id: text}, changes of documents -> table, retriever

The live form of Appendix C of Guu et al. 2020: a fact is changed in the corpus,
its block is embedded again, and the answer follows, without any training.
Added documents are cut as bin.make_blocks cuts; their blocks have ids behind
those of the corpus, never used twice. `document_log` keeps documents on disk.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import sources
from realm_tf.index import block_embeddings
from realm_tf.index import embed_backend
from realm_tf.index import model_files
from realm_tf.serving import document_log
from realm_tf.serving import edited_table
from realm_tf.serving import live_search

MAX_EDITS = 100  # Blocks with a changed text.
_BATCH_WORDPIECES = 4096  # Embedded at once, between two questions.


class Prepared(NamedTuple):
  """A change whose blocks are cut and embedded, but not yet found."""

  change: document_log.Change
  blocks: list[tuple[np.ndarray, np.ndarray]]  # Ids, embeddings; by document.


class EditedCorpus:
  """The edits and live documents of one opened model.

  Only the thread that answers questions changes what it finds. `prepare` may
  run in another one.

  Attributes:
    table: The corpus with its changes.
    retriever: A `RetrievalLayer` that finds changed blocks by their new
      embeddings, the others by the index.
    documents: Added documents by their ids.
    removed: Ids of the corpus' own articles that were removed or replaced.
    num_blocks: Number of blocks that can be found; counted, not summed up.
  """

  def __init__(self, loaded: model_files.OpenModel):
    special_ids = loaded.tokenizer.special_ids
    self._base, self._tokenizer = loaded.table, loaded.tokenizer
    self._lengths = loaded.config.lengths
    config = loaded.config
    self._embed = embed_backend.opener(
      loaded.model, special_ids, config.index
    )()
    self._search = live_search.LiveSearch(loaded.table.num_blocks)
    self._block_ids: dict[str, np.ndarray] = {}
    self.num_blocks = loaded.table.num_blocks
    self.documents: dict[str, document_log.Document] = {}
    self.removed: dict[str, None] = {}
    self.table: Any = edited_table.EditedTable(loaded.table, loaded.tokenizer)
    self._gone: set[int] = set()  # Blocks of `removed`.
    embed = embed_backend.query_embedding(
      loaded.model,
      config.lengths.query_tokens,
      special_ids,
      config.index.embed_backend,
    )
    search = loaded.index.searcher.search

    def retrieve(query_ids, k):
      queries = embed(np.asarray(query_ids))
      return self._search.search(lambda n: search(queries, n), queries, k)

    self.retriever: Any = retrieve

  @property
  def in_force(self) -> document_log.Change:
    """All changes of documents as one."""
    return document_log.Change(list(self.documents.values()), [*self.removed])

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

  def prepare(self, changes: Sequence[document_log.Change]) -> list[Prepared]:
    """Cuts and embeds added documents, all at once; nothing is found by it."""
    documents = [each for change in changes for each in change.add]
    ids = [self._append(document) for document in documents]
    parts = iter(())
    if ids:
      embeddings = self._embedding(np.concatenate(ids))
      ends = np.cumsum([len(part) for part in ids])[:-1]
      parts = zip(ids, np.split(embeddings, ends), strict=True)
    return [
      Prepared(change, [next(parts) for _ in change.add]) for change in changes
    ]

  def forget(self, prepared: Sequence[Prepared]) -> None:
    """Frees the blocks of changes that are not made."""
    for each in prepared:
      for ids, _ in each.blocks:
        self.table.remove(ids)

  def _append(self, document: document_log.Document) -> np.ndarray:
    """Cuts a document; returns the ids of its blocks."""
    article = sources.Article(
      document.title, document.text, document.article_id
    )
    longest = self.table.manifest['max_block_wordpieces']
    return self.table.append(
      block
      for part in blocks_lib.batches([article])
      for block in blocks_lib.cut_batch(part, self._tokenizer, longest)
    )

  def apply(self, prepared: Prepared) -> None:
    """Lets the documents be found, or no longer; an id's last one wins."""
    for article_id in prepared.change.remove:
      self._remove(article_id)
    for document, (ids, embeddings) in zip(
      prepared.change.add, prepared.blocks, strict=True
    ):
      article_id = document.article_id
      self._remove(article_id)
      self.documents[article_id] = document
      self._block_ids[article_id] = ids
      self.num_blocks += len(ids)
      if len(ids):
        self._search.put(ids, embeddings)

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
      self.apply(*self.prepare([change]))

  def warm(self) -> None:
    """Does what the first change would wait for, which may take seconds."""
    self._embedding(np.array([0]))
    self._base.find_article('')  # Maps all articles to their blocks.

  def _embedding(self, block_ids: np.ndarray) -> np.ndarray:
    size = max(1, _BATCH_WORDPIECES // self._lengths.block_tokens)
    return block_embeddings.embed_blocks(
      self._embed, self.table, block_ids, self._lengths, batch_size=size
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
