"""Masks wordpieces of queries (Section 3.4 and Table 2).

  salient       one named entity or date, whole
  random_span   one span of geometric length (SpanBERT)
  random_token  15 % of the tokens (BERT)

Pure NumPy; all random numbers come from the caller's generator.
"""

from typing import NamedTuple

import numpy as np

from realm_tf import config as config_lib
from realm_tf.data import columns
from realm_tf.data import query_table
from realm_tf.data import sampling

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
  queries, length = table.encoded, masking.length
  most = min(masking.max_masked, length)
  lengths = queries.ids.lengths(rows).astype(np.int64)
  if masking.kind == 'salient':
    begins, numbers = _salient(queries.spans, rows, most, rng)
    positions = begins[:, None] + np.arange(masking.max_masked)
  else:
    # Random tokens are spread over the whole query.
    chosen = [
      mask_random_span(number, rng, most)
      if masking.kind == 'random_span'
      else mask_random_token(min(number, length), rng, most)
      for number in lengths
    ]
    numbers = np.array([len(each) for each in chosen])
    positions = sampling.pad_rows(chosen, masking.max_masked).astype(np.int64)
  is_masked = np.arange(masking.max_masked) < numbers[:, None]
  lasts = np.max(np.where(is_masked, positions, -1), axis=1)
  # A window's mask is centered, unless the query ends too soon.
  starts = np.clip((positions[:, 0] + lasts + 1) // 2 - length // 2, 0, None)
  starts = np.minimum(starts, np.maximum(lengths - length, 0))
  starts[lasts < length] = 0
  positions = np.where(is_masked, positions - starts[:, None], 0)
  query_ids = queries.ids.gather(rows, length, starts)
  gold_ids = np.take_along_axis(query_ids, positions, axis=1)
  query_ids[np.nonzero(is_masked)[0], positions[is_masked]] = masking.mask_id
  return dict(
    query_ids=query_ids,
    masked_positions=positions.astype(np.int32),
    gold_ids=np.where(is_masked, gold_ids, 0).astype(np.int32),
    token_mask=is_masked.astype(np.float32),
    own_block=table.own_blocks[rows],
  )


def _salient(
  spans: columns.Rows, rows: np.ndarray, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
  """Returns where one span of each query begins, and its length, int64 [B].

  Spans longer than `most` are never chosen: part of a name would give away the
  rest. If all are longer, nothing is masked.
  """
  sizes = spans.lengths(rows)
  found = spans.gather(rows, max(2, sizes.max(initial=0))).astype(np.int64)
  begins, ends = found[:, ::2], found[:, 1::2]
  fits = np.arange(begins.shape[1]) < sizes[:, None] // 2
  fits &= ends - begins <= most
  counts = fits.sum(axis=1)
  drawn = np.zeros(len(rows), np.int64)
  drawn[counts > 0] = rng.integers(counts[counts > 0])
  place = np.argmax(fits.cumsum(axis=1) > drawn[:, None], axis=1)[:, None]
  begins, ends = (
    np.take_along_axis(each, place, axis=1)[:, 0] for each in (begins, ends)
  )
  return begins, np.where(counts > 0, ends - begins, 0)
