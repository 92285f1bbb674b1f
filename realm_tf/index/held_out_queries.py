"""Samples queries that measure an index: masked sentences of its blocks.

A random span of each sentence is masked, as in pre-training (Section 3.4).
Searching for unmasked sentences is easier than any real query.
"""

import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import query_embeddings
from realm_tf.records import block_table
from realm_tf.records import masking as masking_lib
from realm_tf.records import sampling

_BATCH = 64
_NUM_QUERIES = 512


def sample(
  table: block_table.BlockTable,
  embed: query_embeddings.Embed,
  lengths: config_lib.LengthConfig,
  mask_id: int,
  count: int = _NUM_QUERIES,
) -> np.ndarray:
  """Returns the same embedded masked sentences each time, float32 [Q, D]."""
  rng = np.random.default_rng(0)
  blocks = rng.integers(0, table.num_blocks, count)
  length = lengths.query_tokens - 2
  rows = []
  for block in blocks:
    # Cut before masking: the span must be in the sentence that is embedded.
    row = _sentence(table, int(block), rng)[:length].copy()
    masked = masking_lib.mask_random_span(len(row), rng, lengths.max_masked)
    row[masked] = mask_id
    rows.append(row)
  sentences = sampling.pad_rows(rows, length)
  return np.concatenate(
    [embed(sentences[i : i + _BATCH]) for i in range(0, count, _BATCH)]
  )


def _sentence(
  table: block_table.BlockTable, block: int, rng: np.random.Generator
) -> np.ndarray:
  """Returns the wordpieces of a random sentence, int32 [n]."""
  ends = table.sentence_ends(block)
  if not len(ends):
    return np.zeros(0, np.int32)
  which = int(rng.integers(len(ends)))
  start = int(ends[which - 1]) if which else 0
  end = int(ends[which])
  _, body = table.gather(np.array([block]), 1, end)
  return body[0, start:end]
