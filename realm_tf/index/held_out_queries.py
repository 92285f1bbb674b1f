"""Queries to measure an index with: sentences of random blocks, embedded.

The Inverse Cloze Task's view of a query (Lee et al. 2019): a sentence that asks
for its surroundings. Nothing else is known of queries when an index is built.
"""

import numpy as np

from realm_tf.index import query_embeddings
from realm_tf.records import block_table
from realm_tf.records import sampling

_BATCH = 64


def sample(
  table: block_table.BlockTable,
  embed: query_embeddings.Embed,
  query_tokens: int,
  count: int,
) -> np.ndarray:
  """Returns embedded sentences, the same ones every time.

  Args:
    table: At least one block.
    embed: From `query_embeddings.compile_embedding`.
    query_tokens: Longest [CLS] sentence [SEP].
    count: Q.

  Returns:
    float32 [Q, D].
  """
  rng = np.random.default_rng(0)
  blocks = rng.integers(0, table.num_blocks, count)
  rows = [_sentence(table, int(block), rng) for block in blocks]
  sentences = sampling.pad_rows(rows, query_tokens - 2)
  return np.concatenate(
    [embed(sentences[i : i + _BATCH]) for i in range(0, count, _BATCH)]
  )


def _sentence(table, block, rng):
  """Returns the wordpieces of a random sentence of the block, int32 [n]."""
  ends = table.sentence_ends(block)
  if not len(ends):
    return np.zeros(0, np.int32)
  which = int(rng.integers(len(ends)))
  start = int(ends[which - 1]) if which else 0
  end = int(ends[which])
  _, body = table.gather(np.array([block]), 1, end)
  return body[0, start:end]
