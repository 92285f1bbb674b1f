"""Neighbours of a query -> its K candidates: null block and best others."""

from collections.abc import Mapping

import numpy as np

from realm_tf import interfaces
from realm_tf.data import answer_spans
from realm_tf.data import block_table

SPARE_HITS = 2  # Extra hits: they replace the own block and repeated ones.


def select(
  neighbor_ids: np.ndarray, own_ids: np.ndarray, num_candidates: int
) -> np.ndarray:
  """Puts the null block first and drops each query's own block.

  Section 3.4 of Guu et al. 2020: the null block is always a candidate, the
  block that the query was cut from never is. The next hit replaces an own block
  or a repeated one.

  Args:
    neighbor_ids: Found blocks, int [B, N], best first; negative for none.
    own_ids: Each query's own block, int [B]; negative if it has none.
    num_candidates: K, the null block included.

  Returns:
    int32 [B, K]. Null blocks that are not `is_real` fill a short row.
  """
  neighbor_ids = np.asarray(neighbor_ids)
  usable = (neighbor_ids >= 0) & (neighbor_ids != np.asarray(own_ids)[:, None])
  keys = (np.arange(len(neighbor_ids))[:, None] << 32) + neighbor_ids
  firsts = np.unique(keys, return_index=True)[1]  # Of equal ids in a row.
  usable &= np.isin(np.arange(keys.size), firsts).reshape(keys.shape)
  # A stable sort moves usable hits to the front and keeps their order.
  order = np.argsort(~usable, axis=1, kind='stable')[:, : num_candidates - 1]
  ids = np.where(
    np.take_along_axis(usable, order, axis=1),
    np.take_along_axis(neighbor_ids, order, axis=1),
    interfaces.NULL_BLOCK,
  )
  result = np.full([len(ids), num_candidates], interfaces.NULL_BLOCK, np.int32)
  result[:, 1 : 1 + ids.shape[1]] = ids
  return result


def is_real(candidate_ids: np.ndarray) -> np.ndarray:
  """Returns whether a candidate takes part in p(z|x), bool [B, K].

  The first null block does; null blocks that fill a row do not.
  """
  real = candidate_ids != interfaces.NULL_BLOCK
  real[:, 0] = True
  return real


def have_span(
  body_ids: np.ndarray, gold_ids: np.ndarray, positions: np.ndarray
) -> np.ndarray:
  """Returns whether blocks contain the masked words of a query, bool [B, N].

  Recurring spans teach a reader to look things up without labels, as they teach
  a retriever in Ram et al. 2022 (https://arxiv.org/abs/2112.07708). Each run of
  neighbouring masks is a span, and a block must have all spans.

  Args:
    body_ids: Wordpieces of the blocks, int32 [B, N, Lz]; zeros for no block.
    gold_ids: Masked wordpieces, int32 [B, M], zeros after them.
    positions: Positions of the masks in the query, int32 [B, M], ascending.
  """
  result = []
  for bodies, ids, places in zip(body_ids, gold_ids, positions, strict=True):
    number = np.count_nonzero(ids)
    ends = np.flatnonzero(np.diff(places[:number]) != 1) + 1
    spans = np.split(ids[:number], ends)  # A run of masks each.
    has_span = [answer_spans.contain(bodies, [span]) for span in spans]
    result.append(np.all(has_span, axis=0))
  return np.stack(result)


def find_spans(
  hits: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  depth: int,
  block_tokens: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the best blocks, and whether each has the masked span, [B, depth].

  A query's own block does not count.

  Args:
    hits: Block ids, best first, int [B, depth + SPARE_HITS].
    block_tokens: Wordpieces of a block that are searched; by default all.
  """
  found = select(hits, batch['own_block'], depth + 1)[:, 1:]
  if block_tokens is None:
    block_tokens = int(table.lengths(np.maximum(found.ravel(), 0))[1].max())
  return found, hold_span(found, batch, table, block_tokens)


def hold_span(
  ids: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  block_tokens: int,
) -> np.ndarray:
  """Returns whether blocks hold the masked wordpieces, bool [B, N].

  Args:
    ids: Block ids, int [B, N].
    block_tokens: Wordpieces of a block that are searched.
  """
  _, bodies = table.gather(ids, 1, block_tokens)
  return have_span(bodies, batch['gold_ids'], batch['masked_positions'])
