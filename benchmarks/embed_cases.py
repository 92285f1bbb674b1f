"""Makes the blocks that benchmarks/embed.py embeds, of one or many lengths."""

from collections.abc import Iterator
from typing import NamedTuple, Optional

import numpy as np

from benchmarks import sizes
from realm_tf import config as config_lib
from realm_tf.data import block_table

REAL = 'real lengths'
_TITLE_TOKENS = 4


class Case(NamedTuple):
  """Blocks to embed; `block_tokens` is the longest length."""

  name: str
  table: block_table.BlockTable
  block_ids: np.ndarray
  block_tokens: int

  @property
  def lengths(self) -> config_lib.LengthConfig:
    """Lengths for `block_embeddings.embed_blocks`."""
    return config_lib.LengthConfig(block_tokens=self.block_tokens)

  @property
  def totals(self) -> np.ndarray:
    """Wordpieces of each block with specials, int32 [n]."""
    titles, bodies = self.table.lengths(self.block_ids)
    totals = np.minimum(titles, self.lengths.title_tokens) + bodies + 3
    return np.minimum(totals, self.block_tokens)


class _MadeUpTable:
  """A block table of random wordpieces; `totals` are lengths with specials."""

  def __init__(self, totals: np.ndarray):
    self._bodies = np.asarray(totals, np.int32) - _TITLE_TOKENS - 3
    self.num_blocks = len(totals)

  def lengths(self, ids):
    bodies = self._bodies[ids]
    return np.full_like(bodies, _TITLE_TOKENS), bodies

  def gather(self, ids, title_length, body_length):
    return (
      _words(ids, np.full_like(ids, _TITLE_TOKENS), title_length),
      _words(ids, self._bodies[ids], body_length),
    )


def _words(ids, lengths, width):
  """Returns words by block and position, int32 [n, width]; zeros after them."""
  places = np.arange(width)
  words = (np.asarray(ids)[:, None] * 7919 + places * 104_729) % (
    sizes.VOCAB_SIZE - sizes.FIRST_WORD
  )
  inside = (places < lengths[:, None]) & (ids >= 0)[:, None]
  return np.where(inside, words + sizes.FIRST_WORD, 0).astype(np.int32)


def _made_up_lengths(number: int, longest: int) -> np.ndarray:
  """Returns random lengths as in a Wikipedia corpus, int64 [number].

  Seven blocks in eight end within 40 wordpieces of the limit, where a sentence
  ends. One in eight is the rest of an article, of any length.
  """
  rng = np.random.default_rng(0)
  full = longest - rng.integers(0, 41, number)
  rest = rng.integers(2 * _TITLE_TOKENS, longest, number)
  return np.where(rng.random(number) < 1 / 8, rest, full)


def cases(
  number: int, corpus_dir: Optional[str], block_tokens: int
) -> Iterator[Case]:
  """Yields cases of `number` blocks.

  Args:
    corpus_dir: Corpus with the real lengths; None takes random ones.
    block_tokens: Longest block of the real lengths.
  """
  ids = np.arange(number)
  for length in (192, 288):
    table = _MadeUpTable(np.full(number, length))
    yield Case(f'{length} padded', table, ids, length)
  if corpus_dir:
    table = block_table.BlockTable.open(corpus_dir)
    ids = np.random.default_rng(0).choice(
      table.num_blocks, min(number, table.num_blocks), replace=False
    )
  else:
    table = _MadeUpTable(_made_up_lengths(number, block_tokens))
  yield Case(REAL, table, ids, block_tokens)
