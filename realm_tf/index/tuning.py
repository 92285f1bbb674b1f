"""Tunes the effort of an approximate searcher to reach a recall.

Recall@k is the share of the exact top k blocks among the k found, as in the
benchmark of Aumueller et al. 2018 (https://arxiv.org/abs/1807.05614). No time
is measured: the same index and queries give the same effort on any machine.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import searcher as searcher_lib

_LEAVES_RATIO = 1.25  # Between numbers of leaves to try.
# Multiples of k to rescore, up to max(_MOST_RESCORED, _MOST_MULTIPLE * k)
# blocks. Larger numbers would take minutes to try, and large k need fewer.
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_MOST_RESCORED = 640
_MOST_MULTIPLE = 16
MIN_BLOCKS = 16  # The fewest points to train a codebook of 4 bits on.
# Blocks scored by codes in the time of rescoring one block.
_BLOCKS_PER_RESCORE = 40


class Choice(NamedTuple):
  """The cheapest effort that reaches the target, else the largest."""

  effort: searcher_lib.Effort
  recall: float  # Measured, in [0, 1].
  num_tried: int  # Efforts that were measured.


def untuned(
  config: config_lib.IndexConfig, num_blocks: int
) -> tuple[int, searcher_lib.Effort]:
  """Returns the config's number of leaves and effort."""
  leaves = config.num_leaves or max(1, round(math.sqrt(num_blocks)))
  leaves = min(leaves, num_blocks)
  to_search = max(1, math.ceil(leaves * config.leaves_to_search_fraction))
  return leaves, searcher_lib.Effort(to_search, config.num_to_rescore)


def tune(
  searcher: searcher_lib.ApproximateSearcher,
  num_blocks: int,
  queries: np.ndarray,
  expected_ids: np.ndarray,
  ks: Sequence[int],
  target: float,
) -> dict[int, Choice]:
  """Returns the effort for each of `ks`, ascending.

  Args:
    queries: float32 [Q, D], held out.
    expected_ids: Exact top blocks of the queries, [Q, the largest k].
    target: Recall to reach; 0 only measures the searcher's own effort.
  """
  choices, leaves = {}, 1
  for k in ks:
    candidates = [searcher.effort]
    if target:
      # A larger k needs at least the leaves of a smaller k.
      candidates = efforts(searcher.num_leaves, num_blocks, k, leaves)
    choice = choose(searcher, candidates, queries, expected_ids[:, :k], target)
    choices[k], leaves = choice, choice.effort.leaves_to_search
    logging.info(
      'Recall@%d is %.4f at %s, of %d leaves; %d efforts were measured.',
      k,
      choice.recall,
      choice.effort,
      searcher.num_leaves,
      choice.num_tried,
    )
  return choices


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
  leaves = [number for number in _geometric(num_leaves) if number >= min_leaves]
  most = max(_MOST_RESCORED, _MOST_MULTIPLE * k)
  rescores = {min(k * times, most, num_blocks) for times in _MULTIPLES}
  blocks_per_leaf = num_blocks / num_leaves

  def cost(effort: searcher_lib.Effort) -> float:
    return (
      effort.leaves_to_search * blocks_per_leaf
      + effort.num_to_rescore * _BLOCKS_PER_RESCORE
    )

  return sorted(
    (searcher_lib.Effort(a, b) for a in leaves for b in rescores), key=cost
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
  thorough = max(effort.num_to_rescore for effort in candidates)
  # Leaves -> whether rescoring the most hits reaches the target.
  within_reach: dict[int, bool] = {}
  num_tried = 0

  def measure(effort: searcher_lib.Effort) -> float:
    nonlocal num_tried
    num_tried += 1
    found = searcher.with_effort(effort).search(queries, expected_ids.shape[1])
    return recall(found.block_ids, expected_ids)

  for effort in candidates:
    leaves = effort.leaves_to_search
    if leaves not in within_reach:
      most = searcher_lib.Effort(leaves, thorough)
      within_reach[leaves] = measure(most) >= target
    if within_reach[leaves]:
      measured = measure(effort)
      if measured >= target:
        return Choice(effort, measured, num_tried)
  effort = max(candidates)
  measured = measure(effort)
  logging.warning(
    'Recall@%d is %.4f at %s, the most thorough search; the target is %.4f. '
    'More leaves may help.',
    expected_ids.shape[1],
    measured,
    effort,
    target,
  )
  return Choice(effort, measured, num_tried)


def _geometric(largest: int) -> list[int]:
  """Returns integers from 1 to `largest`, in steps of about a quarter."""
  result, number = [], 1
  while number < largest:
    result.append(number)
    number = max(number + 1, math.floor(number * _LEAVES_RATIO))
  return [*result, largest]
