"""A corpus with changed texts and documents, in memory, and its search.

Appendix C of Guu et al. 2020, live: a changed block is embedded again, and
answers follow without any training. Documents are cut as bin.make_blocks cuts
articles; their blocks get ids after the ids of the corpus.
"""

from collections.abc import Sequence
import dataclasses
from typing import NamedTuple, Optional, cast

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import sources
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.live import changes as changes_lib
from realm_tf.live import edited_table
from realm_tf.live import live_search
from realm_tf.records import block_table

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
    self._search = live_search.LiveSearch(
      loaded.index.searcher, loaded.table.num_blocks
    )
    self._block_ids: dict[str, np.ndarray] = {}  # By id in `documents`.
    self._gone: set[int] = set()  # Blocks of `removed`.
    self.table = edited_table.EditedTable(loaded.table, loaded.tokenizer)
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
