"""A corpus some of whose blocks have another text, in memory only.

  table, index, {block id: text} -> [this file] -> table, retriever

The live form of Appendix C of Guu et al. 2020: a fact is changed in the corpus,
its block is embedded again, and the answer follows, without any training.
Nothing is written: who starts the server again has the corpus of the disk.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from realm_tf.answering import loading
from realm_tf.index import block_embeddings
from realm_tf.index import query_embeddings
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import block_table
from realm_tf.retrieval import overlay as overlay_lib
from realm_tf.retrieval import retrieval_layer
from realm_tf.text import wordpiece

MAX_EDITS = 100  # Blocks that are other than in the corpus.
# Restored blocks stay in the overlay, with the embedding of their own text.
_CAPACITY = 100 * MAX_EDITS


class EditedTable:
  """A `BlockTable` with some texts laid over it.

  Args:
    table: The corpus.
    tokenizer: With its vocabulary.

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
    """Gives a block another text; None gives it its own again."""
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
    """See `BlockTable.gather`."""
    ids = np.asarray(ids)
    title_ids, body_ids = self._table.gather(ids, title_length, body_length)
    body_ids = np.array(body_ids)
    for block_id, changed in self._body_ids.items():
      row = np.zeros([body_length], np.int32)
      row[: len(changed)] = changed[:body_length]
      body_ids[ids == block_id] = row
    return title_ids, body_ids

  def lengths(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """See `BlockTable.lengths`; here `ids` must be given."""
    titles, bodies = self._table.lengths(ids)
    bodies = np.array(bodies)
    for block_id, changed in self._body_ids.items():
      bodies[np.asarray(ids) == block_id] = len(changed)
    return titles, bodies


class EditedRetriever:
  """Finds blocks by an index, and the edited ones by their new embeddings.

  Args:
    retriever: Over the index.
    embed: Of queries.
    overlay: Holds the embeddings of edited blocks.
  """

  def __init__(
    self,
    retriever: retrieval_layer.RetrievalLayer,
    embed: query_embeddings.Embed,
    overlay: overlay_lib.Overlay,
  ):
    self._retriever = retriever
    self._embed = embed
    self._overlay = overlay

  def __call__(self, query_ids: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """See `RetrievalLayer`."""
    return self._overlay.search(
      lambda n: self._retriever(query_ids, n), lambda: self._embed(query_ids), k
    )


class EditedCorpus:
  """The edits of one opened model.

  Not safe for threads: whoever answers questions changes texts, too.

  Args:
    loaded: The model; its index must be exact or it finds what it finds.

  Attributes:
    table: See `EditedTable`.
    retriever: See `EditedRetriever`.
  """

  def __init__(self, loaded: loading.Loaded):
    special_ids = loaded.tokenizer.special_ids
    self._lengths = loaded.config.lengths
    self._embed = block_embeddings.compile_embedding(loaded.model, special_ids)
    self._overlay = overlay_lib.Overlay(_CAPACITY)
    self._num_writes = 0
    self.table: Any = EditedTable(loaded.table, loaded.tokenizer)
    self.retriever: Any = EditedRetriever(
      loaded.retriever,
      query_embeddings.compile_any_size(
        loaded.model, self._lengths.query_tokens, special_ids
      ),
      self._overlay,
    )

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Changes the text of a block and embeds it again; see `EditedTable`."""
    self.table.change(block_id, text)
    embedding = block_embeddings.embed_blocks(
      self._embed, self.table, np.array([block_id]), self._lengths, 1
    )
    self._num_writes += 1
    self._overlay.write(np.array([block_id]), embedding, self._num_writes)

  def warm(self) -> None:
    """Compiles the embedding of a block, which takes a second or two."""
    block_embeddings.embed_blocks(
      self._embed, self.table, np.array([0]), self._lengths, 1
    )

  def adopt(self, changed: Mapping[int, str]) -> None:
    """Makes the texts those of `changed`; what is so already costs nothing.

    Args:
      changed: Block id -> text, of another model's edits.
    """
    for block_id in set(changed) | set(self.table.changed):
      text = changed.get(block_id)
      if text != self.table.changed.get(block_id):
        self.change(block_id, text)
