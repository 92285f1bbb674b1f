"""A corpus with changed texts and added blocks, in memory."""

from collections.abc import Iterable, Sequence
from typing import Optional

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.records import block_table
from realm_tf.text import wordpiece


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
