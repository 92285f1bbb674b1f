"""Finds which retrieved blocks have a query's masked words, without labels."""

from collections.abc import Mapping
from typing import Optional

import numpy as np

from realm_tf.records import block_table
from realm_tf.retrieval import candidates

SPARE_HITS = 2  # Extra hits: they replace the own block and repeated ones.


def find(
  hits: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  depth: int,
  block_tokens: Optional[int] = None,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the best blocks, and whether each has the masked span, [B, depth].

  A query's own block does not count.

  Args:
    hits: Block ids, best first, int [B, depth + SPARE_HITS].
    block_tokens: Wordpieces of a block that are searched; by default all.
  """
  found = candidates.select(hits, batch['own_block'], depth + 1)[:, 1:]
  if block_tokens is None:
    block_tokens = int(table.lengths(np.maximum(found.ravel(), 0))[1].max())
  _, bodies = table.gather(found, 1, block_tokens)
  has_span = candidates.have_span(
    bodies, batch['gold_ids'], batch['masked_positions']
  )
  return found, has_span
