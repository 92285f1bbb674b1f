"""A corpus with some texts changed and blocks added, in memory."""

from collections.abc import Iterable, Sequence
from typing import Optional

import numpy as np

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.records import block_table
from realm_tf.text import wordpiece


class EditedTable:
  """The part of a `BlockTable` that answering uses, with its changes.

  Attributes:
    changed: Block id -> text, for blocks of the corpus.
    num_blocks: Number of ids that blocks have or had; no id is used twice.
    manifest: Manifest of the corpus.
  """

  def __init__(
    self, table: block_table.BlockTable, tokenizer: wordpiece.WordpieceTokenizer
  ):
    self._table = table
    self._tokenizer = tokenizer
    self._body_ids: dict[int, np.ndarray] = {}  # Of changed blocks.
    self._added: dict[int, blocks_lib.Block] = {}
    self.changed: dict[int, str] = {}
    self.num_blocks = table.num_blocks
    self.manifest = table.manifest

  def append(self, blocks: Iterable[blocks_lib.Block]) -> np.ndarray:
    """Adds blocks and returns their ids, int64."""
    start = self.num_blocks
    added = dict(enumerate(blocks, start))
    self._added.update(added)
    self.num_blocks += len(added)
    return np.arange(start, self.num_blocks)

  def remove(self, ids: Iterable[int]) -> None:
    """Forgets added blocks; nothing may read them after this call."""
    for block_id in ids:
      del self._added[int(block_id)]

  def change(self, block_id: int, text: Optional[str]) -> None:
    """Gives a block of the corpus another text; None restores its own."""
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
    for place in self._new_places(ids):
      title, body = self._wordpieces(ids[place])
      if title is not None:
        _set(title_ids[place], title)
      _set(body_ids[place], body)
    return title_ids, body_ids

  def lengths(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths as `BlockTable.lengths` does, changes included."""
    ids = np.asarray(ids)
    titles, bodies = map(np.array, self._table.lengths(self._own(ids)))
    for place in self._new_places(ids):
      title, body = self._wordpieces(ids[place])
      if title is not None:
        titles[place] = len(title)
      bodies[place] = len(body)
    return titles, bodies

  def _own(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns `ids` with 0 in place of the ids of added blocks."""
    ids = np.asarray(ids, np.int64)
    return np.where(ids < self._table.num_blocks, ids, 0)

  def _block(self, block_id: int) -> Optional[blocks_lib.Block]:
    """Returns an added block; None for a block of the corpus."""
    is_own = block_id < self._table.num_blocks
    return None if is_own else self._added[int(block_id)]

  def _new_places(self, ids: np.ndarray) -> list[tuple[int, ...]]:
    """Returns the places in `ids` of changed and added blocks."""
    is_new = ids >= self._table.num_blocks
    is_new |= np.isin(ids, list(self._body_ids))
    return list(zip(*np.nonzero(is_new)))

  def _wordpieces(
    self, block_id: int
  ) -> tuple[Optional[np.ndarray], np.ndarray]:
    """Returns title, None for the corpus' own, and body of a new block."""
    block = self._block(block_id)
    if block:
      return block.title_ids, block.body_ids
    return None, self._body_ids[int(block_id)]


def _set(row: np.ndarray, wordpieces: np.ndarray) -> None:
  """Fills a row with wordpieces, cut or zero-padded."""
  row[:] = 0
  row[: len(wordpieces)] = wordpieces[: len(row)]
