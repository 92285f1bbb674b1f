"""Masks wordpieces of queries (Section 3.4 and Table 2).

  salient       one named entity or date, whole
  random_span   one span of geometric length (SpanBERT)
  random_token  15 % of the tokens (BERT)

Pure NumPy; all random numbers come from the caller's generator.
"""

from typing import NamedTuple

import numpy as np

from realm_tf import config as config_lib
from realm_tf.data import query_table

_TOKEN_RATE = 0.15  # Devlin et al. 2019, Section 3.1.
_SPAN_STOP_RATE = 0.2  # Joshi et al. 2020, Section 3.1; the mean is about 4.


class Masking(NamedTuple):
  """Parameters of masking."""

  kind: str  # 'salient', 'random_span' or 'random_token'.
  length: int  # Lx, the most wordpieces of a query.
  max_masked: int  # M.
  mask_id: int


def of_config(config: config_lib.ExperimentConfig, mask_id: int) -> Masking:
  """Returns the masking of pre-training; [CLS] and [SEP] take two places."""
  lengths = config.lengths
  return Masking(
    config.pretraining.masking,
    lengths.query_tokens - 2,
    lengths.max_masked,
    mask_id,
  )


def mask_salient(
  spans: np.ndarray, rng: np.random.Generator, max_masked: int
) -> np.ndarray:
  """Returns the positions of one of the spans [start, end), int32 [S, 2].

  Spans longer than `max_masked` are never chosen: part of a name would give
  away the rest. If all are longer, nothing is masked.
  """
  fitting = spans[spans[:, 1] - spans[:, 0] <= max_masked]
  if not len(fitting):
    return np.zeros(0, np.int64)
  return np.arange(*fitting[rng.integers(len(fitting))])


def mask_random_span(
  num_tokens: int, rng: np.random.Generator, max_masked: int
) -> np.ndarray:
  """Returns the positions of one random span.

  Deviation: SpanBERT masks spans of whole words, 15 % of the text. One span of
  wordpieces is comparable with one salient span.
  """
  if not num_tokens:
    return np.zeros(0, np.int64)
  width = min(rng.geometric(_SPAN_STOP_RATE), max_masked, num_tokens)
  return rng.integers(num_tokens - width + 1) + np.arange(width)


def mask_random_token(
  num_tokens: int, rng: np.random.Generator, max_masked: int
) -> np.ndarray:
  """Returns 15 % of all positions, at least one.

  Deviation: all become [MASK]; BERT keeps or replaces one in five.
  """
  if not num_tokens:
    return np.zeros(0, np.int64)
  number = min(max(1, round(_TOKEN_RATE * num_tokens)), max_masked)
  return np.sort(rng.choice(num_tokens, number, replace=False))


def mask_batch(
  table: query_table.QueryTable,
  rows: np.ndarray,
  masking: Masking,
  rng: np.random.Generator,
) -> dict[str, np.ndarray]:
  """Masks the queries `rows` of `table`.

  A query longer than `masking.length` is cut to a window around the mask.

  Returns:
    query_ids, int32 [B, Lx]: x with [MASK], zero-padded.
    masked_positions, int32 [B, M]: positions in x without [CLS], zero-padded.
    gold_ids, int32 [B, M]: y, zero-padded.
    token_mask, float32 [B, M]: 1.0 at a masked token.
    own_block, int64 [B]: block ids, or -1.
  """
  size, length, num_masked = len(rows), masking.length, masking.max_masked
  query_ids = np.zeros((size, length), np.int32)
  masked_positions = np.zeros((size, num_masked), np.int32)
  gold_ids = np.zeros((size, num_masked), np.int32)
  token_mask = np.zeros((size, num_masked), np.float32)
  for i, row in enumerate(rows):
    ids, positions = _choose(table.query(row), masking, rng)
    query_ids[i, : len(ids)] = ids
    query_ids[i, positions] = masking.mask_id
    masked_positions[i, : len(positions)] = positions
    gold_ids[i, : len(positions)] = ids[positions]
    token_mask[i, : len(positions)] = 1
  return dict(
    query_ids=query_ids,
    masked_positions=masked_positions,
    gold_ids=gold_ids,
    token_mask=token_mask,
    own_block=table.own_blocks[rows],
  )


def _choose(
  query: query_table.Query, masking: Masking, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the window's ids, unmasked, and the positions to mask in it."""
  ids, length = query.ids, masking.length
  max_masked = min(masking.max_masked, length)
  match masking.kind:
    case 'salient':
      positions = mask_salient(query.spans, rng, max_masked)
    case 'random_span':
      positions = mask_random_span(len(ids), rng, max_masked)
    case 'random_token':
      ids = ids[:length]  # These positions are spread over the whole query.
      positions = mask_random_token(len(ids), rng, max_masked)
  start = 0
  if len(ids) > length and len(positions) and positions[-1] >= length:
    # The mask is centered, unless the query ends too soon.
    middle = (positions[0] + positions[-1] + 1) // 2
    start = int(np.clip(middle - length // 2, 0, len(ids) - length))
  return ids[start : start + length], positions - start
