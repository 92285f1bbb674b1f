"""Tunes the effort of an approximate searcher to reach a recall.

Recall@k is the share of the exact top k blocks among the k found, as in the
benchmark of Aumueller et al. 2018 (https://arxiv.org/abs/1807.05614). No time
is measured: the same index and queries give the same effort on any machine.

The queries are sentences of the blocks in which a random span is masked, as in
pre-training (Section 3.4). Searching for unmasked sentences is easier than any
real query.
"""

from collections.abc import Sequence
import functools
import math
from typing import NamedTuple

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf.data import block_table
from realm_tf.data import masking as masking_lib
from realm_tf.data import sampling
from realm_tf.index import embedding
from realm_tf.index import searcher as searcher_lib

_LEAVES_RATIO = 1.25  # Between numbers of leaves to try.
# Multiples of k to rescore, up to max(_MOST_RESCORED, _MOST_MULTIPLE * k)
# blocks. Larger numbers would take minutes to try, and large k need fewer.
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_MOST_RESCORED = 640
_MOST_MULTIPLE = 16
# Blocks scored by codes in the time of rescoring one block.
_BLOCKS_PER_RESCORE = 40
_BATCH = 64
_NUM_QUERIES = 512


class Choice(NamedTuple):
  """The cheapest effort that reaches the target, else the largest."""

  effort: searcher_lib.Effort
  recall: float  # Measured, in [0, 1].


def recall(found_ids: np.ndarray, expected_ids: np.ndarray) -> float:
  """Returns the share of `expected_ids`, [Q, k], in `found_ids`, [Q, K]."""
  # Row by row: all pairs at once take gigabytes if k is in the thousands.
  hits = sum(
    np.count_nonzero(np.isin(expected, found))
    for found, expected in zip(found_ids, expected_ids, strict=True)
  )
  return float(hits / expected_ids.size)


def efforts(
  num_leaves: int, num_blocks: int, k: int, min_leaves: int = 1
) -> list[searcher_lib.Effort]:
  """Returns the efforts to try for the top `k`, the cheapest first.

  The cost is the number of blocks in the visited leaves, plus
  `_BLOCKS_PER_RESCORE` for each rescored block.

  Args:
    min_leaves: Fewest leaves to try: the number that a smaller k needs.
  """
  leaves, number = [num_leaves], 1
  while number < num_leaves:
    leaves.append(number)
    number = max(number + 1, math.floor(number * _LEAVES_RATIO))
  most = max(_MOST_RESCORED, _MOST_MULTIPLE * k)
  rescores = {min(k * times, most, num_blocks) for times in _MULTIPLES}
  return sorted(
    (
      searcher_lib.Effort(visited, rescored)
      for visited in sorted(leaves)
      for rescored in rescores
      if visited >= min_leaves
    ),
    key=lambda effort: (
      effort.leaves_to_search * (num_blocks / num_leaves)
      + effort.num_to_rescore * _BLOCKS_PER_RESCORE
    ),
  )


def choose(
  searcher: searcher_lib.ApproximateSearcher,
  candidates: Sequence[searcher_lib.Effort],
  queries: np.ndarray,
  expected_ids: np.ndarray,
  target: float,
) -> Choice:
  """Returns the first candidate that reaches the target.

  If none does, logs a warning and returns the most thorough effort.

  Args:
    candidates: Efforts, the cheapest first.
    queries: float32 [Q, D], held out.
    expected_ids: Exact top k blocks of the queries, [Q, k].
    target: Recall@k, in [0, 1].
  """
  k = expected_ids.shape[1]
  most = max(effort.num_to_rescore for effort in candidates)

  @functools.cache
  def measure(effort: searcher_lib.Effort) -> float:
    found = searcher.with_effort(effort).search(queries, k)
    return recall(found.block_ids, expected_ids)

  for effort in candidates:
    # Leaves that miss the target with all their hits need no further trial.
    is_within_reach = measure(effort._replace(num_to_rescore=most)) >= target
    if is_within_reach and measure(effort) >= target:
      return Choice(effort, measure(effort))
  effort = max(candidates)
  logging.warning(
    'Recall@%d is %.4f at %s, the most thorough search; the target is %.4f. '
    'More leaves may help.',
    k,
    measure(effort),
    effort,
    target,
  )
  return Choice(effort, measure(effort))


def sample_queries(
  table: block_table.BlockTable,
  embed: embedding.QueryEmbed,
  lengths: config_lib.LengthConfig,
  mask_id: int,
  count: int = _NUM_QUERIES,
) -> np.ndarray:
  """Returns the same embedded masked sentences each time, float32 [Q, D]."""
  rng = np.random.default_rng(0)
  blocks = rng.integers(0, table.num_blocks, count)
  length = lengths.query_tokens - 2
  rows = []
  for block in map(int, blocks):
    row = np.zeros(0, np.int32)
    ends = table.sentence_ends(block)
    if len(ends):
      which = int(rng.integers(len(ends)))
      start, end = int(ends[which - 1]) if which else 0, int(ends[which])
      _, body = table.gather(np.array([block]), 1, end)
      # Cut before masking: the span must be in the sentence that is embedded.
      row = body[0, start:end][:length].copy()
    masked = masking_lib.mask_random_span(len(row), rng, lengths.max_masked)
    row[masked] = mask_id
    rows.append(row)
  sentences = sampling.pad_rows(rows, length)
  return np.concatenate(
    [embed(sentences[i : i + _BATCH]) for i in range(0, count, _BATCH)]
  )
