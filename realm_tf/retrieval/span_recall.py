"""Measures the recall of masked words: which blocks have them.

  masked queries, a retriever -> [this file] -> whether each hit has the span

No labels are needed: a block with the masked words, other than the sentence's
own, may tell the reader what they are.
"""

from collections.abc import Mapping
from typing import Optional

import numpy as np

from realm_tf.records import block_table
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import wordpiece

SPARE_HITS = 2  # Extra hits, in place of the own block and of repeated ones.
_BATCH = 64


def find(
  hits: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  depth: int,
  block_tokens: Optional[int] = None,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the best blocks, and whether each has the masked span.

  Args:
    hits: Block ids, best first, int [B, `depth` + SPARE_HITS].
    batch: Batch of `masking.mask_batch`; a query's own block does not count.
    table: The corpus.
    depth: Blocks of each query.
    block_tokens: Wordpieces of a block that are searched; None is all.

  Returns:
    Block ids, int32 [B, depth], and bool [B, depth].
  """
  found = candidates.select(hits, batch['own_block'], depth + 1)[:, 1:]
  if block_tokens is None:
    block_tokens = int(table.lengths(np.maximum(found.ravel(), 0))[1].max())
  _, bodies = table.gather(found, 1, block_tokens)
  has_span = candidates.have_span(
    bodies, batch['gold_ids'], batch['masked_positions']
  )
  return found, has_span


def of_masked(
  masked: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  retriever: retriever_lib.Retriever,
  depth: int,
) -> np.ndarray:
  """Returns which hits of n > 0 masked sentences have the span, [n, depth]."""
  found = []
  for start in range(0, len(masked['query_ids']), _BATCH):
    batch = {
      name: each[start : start + _BATCH] for name, each in masked.items()
    }
    hits = retriever.retrieve(
      retriever_lib.masked(batch['query_ids'], tokenizer), depth + SPARE_HITS
    )
    found.append(find(hits.block_ids, batch, table, depth)[1])
  return np.concatenate(found)
