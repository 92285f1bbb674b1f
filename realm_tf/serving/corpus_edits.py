"""A corpus with changed texts, in memory only.

  table, index, {block id: text} -> table, retriever

The live form of Appendix C of Guu et al. 2020: a fact is changed in the corpus,
its block is embedded again, and the answer follows, without any training. A
server that is started again has the corpus of the disk.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from realm_tf.answering import loading
from realm_tf.index import block_embeddings
from realm_tf.index import query_embeddings
from realm_tf.records import block_table
from realm_tf.retrieval import overlay as overlay_lib
from realm_tf.text import wordpiece

MAX_EDITS = 100  # Blocks with a changed text.
# Restored blocks stay in the overlay, with the embedding of their own text.
_CAPACITY = 100 * MAX_EDITS


class EditedTable:
  """A `BlockTable` with some texts changed.

  Attributes:
    changed: Block id -> text.
  """

  def __init__(
    self, table: block_table.BlockTable, tokenizer: wordpiece.WordpieceTokenizer
  ):
    self._table = table
    self._tokenizer = tokenizer
    self._body_ids: dict[int, np.ndarray] = {}
    self.changed: dict[int, str] = {}
    self.num_blocks = table.num_blocks
    self.manifest = table.manifest

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Gives a block another text; None restores its own."""
    if text is None:
      self.changed.pop(block_id, None)
      self._body_ids.pop(block_id, None)
    else:
      (self._body_ids[block_id],) = self._tokenizer.token_ids_batch([text])
      self.changed[block_id] = text

  def titles(self, ids: Sequence[int]) -> list[str]:
    return self._table.titles(ids)

  def texts(self, ids: Sequence[int]) -> list[str]:
    own = self._table.texts(ids)
    return [self.changed.get(int(i), text) for i, text in zip(ids, own)]

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Gathers wordpieces as `BlockTable.gather` does, edits included."""
    ids = np.asarray(ids)
    title_ids, body_ids = self._table.gather(ids, title_length, body_length)
    body_ids = np.array(body_ids)
    for block_id, changed in self._body_ids.items():
      row = np.zeros([body_length], np.int32)
      row[: len(changed)] = changed[:body_length]
      body_ids[ids == block_id] = row
    return title_ids, body_ids

  def lengths(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths as `BlockTable.lengths` does; `ids` must be given."""
    titles, bodies = self._table.lengths(ids)
    bodies = np.array(bodies)
    for block_id, changed in self._body_ids.items():
      bodies[np.asarray(ids) == block_id] = len(changed)
    return titles, bodies


class EditedCorpus:
  """The edits of one opened model.

  Not safe for threads: the thread that answers questions changes texts, too.

  Attributes:
    table: The corpus with its changes.
    retriever: A `RetrievalLayer` that finds edited blocks by their new
      embeddings, the others by the index.
  """

  def __init__(self, loaded: loading.Loaded):
    special_ids = loaded.tokenizer.special_ids
    self._lengths = loaded.config.lengths
    self._embed = block_embeddings.compile_embedding(loaded.model, special_ids)
    self._overlay = overlay_lib.Overlay(_CAPACITY)
    self._num_writes = 0
    self.table: Any = EditedTable(loaded.table, loaded.tokenizer)
    embed = query_embeddings.compile_any_size(
      loaded.model, self._lengths.query_tokens, special_ids
    )
    self.retriever: Any = lambda query_ids, k: self._overlay.search(
      lambda n: loaded.retriever(query_ids, n), lambda: embed(query_ids), k
    )

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Changes the text of a block and embeds it again; see `EditedTable`."""
    self.table.change(block_id, text)
    self._num_writes += 1
    self._overlay.write(
      np.array([block_id]), self._embedding(block_id), self._num_writes
    )

  def warm(self) -> None:
    """Compiles the embedding of a block, which takes a second or two."""
    self._embedding(0)

  def _embedding(self, block_id: int) -> np.ndarray:
    return block_embeddings.embed_blocks(
      self._embed, self.table, np.array([block_id]), self._lengths, 1
    )

  def adopt(self, changed: Mapping[int, str]) -> None:
    """Makes the changes those of `changed`, {block id: text}.

    Blocks that have the text already cost nothing.
    """
    for block_id in set(changed) | set(self.table.changed):
      text = changed.get(block_id)
      if text != self.table.changed.get(block_id):
        self.change(block_id, text)
