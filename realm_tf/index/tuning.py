"""Tunes how much an approximate searcher spends, by its recall.

  searcher + held-out queries + k -> [this file] -> effort, measured recall

Recall@k is the share of the exact top k blocks that are among the k found, as
in the benchmark of Aumueller et al. 2018 (https://arxiv.org/abs/1807.05614).
No clock is read, so the same index and queries give the same choice anywhere.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import searcher as searcher_lib

_LEAVES_RATIO = 1.25  # Between two numbers of leaves that are tried.
# Blocks to rescore, in multiples of k: fewer than k change nothing. Large k
# need few times as many, and many would take minutes to try.
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_MOST_RESCORED = 640
_MOST_MULTIPLE = 16  # Where that is more.
MIN_BLOCKS = 16  # Codebooks of 4 bits are trained on no fewer points.
# Blocks scored by their codes in the time in which one is rescored.
_BLOCKS_PER_RESCORE = 40


class Choice(NamedTuple):
  """An effort and the recall that it reaches.

  Attributes:
    effort: The cheapest one that reaches the target, else the largest.
    recall: Measured share of the exact top blocks, in [0, 1].
    num_tried: Efforts that were measured.
  """

  effort: searcher_lib.Effort
  recall: float
  num_tried: int


def untuned(
  config: config_lib.IndexConfig, num_blocks: int
) -> tuple[int, searcher_lib.Effort]:
  """Returns the number of leaves and the effort that the config names."""
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
  """Returns the effort that each k needs.

  Args:
    queries: float32 [Q, D], held out.
    expected_ids: Their exact top blocks, [Q, the largest k].
    ks: Numbers of blocks that jobs will ask for, ascending.
    target: Recall to reach; 0 keeps the searcher's effort, and only measures.
  """
  choices, leaves = {}, 1
  for k in ks:
    candidates = [searcher.effort]
    if target:
      # Too few leaves for a smaller k are too few for a larger one.
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
  """Returns the share of `expected_ids`, [Q, k], that `found_ids` has.

  Args:
    found_ids: Integers [Q, K], -1 in places that were not filled.
    expected_ids: Integers [Q, k].
  """
  # Row by row: all pairs at once take gigabytes where k is thousands.
  hits = sum(
    np.count_nonzero(np.isin(expected, found))
    for found, expected in zip(found_ids, expected_ids, strict=True)
  )
  return float(hits / expected_ids.size)


def efforts(
  num_leaves: int, num_blocks: int, k: int, min_leaves: int = 1
) -> list[searcher_lib.Effort]:
  """Returns the efforts worth trying, the cheapest first.

  The cost is counted in blocks scored by their codes: those of the leaves
  visited, and `_BLOCKS_PER_RESCORE` for each that is rescored.

  Args:
    num_leaves: Number of partitions.
    num_blocks: Number of blocks, N.
    k: Blocks that are asked for.
    min_leaves: Fewest leaves to try, those of a smaller k.
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
  """Returns the first of `candidates` that reaches the target.

  Args:
    candidates: Efforts, the cheapest first.
    queries: float32 [Q, D], held out.
    expected_ids: Their exact top k blocks, [Q, k].
    target: Recall@k, in [0, 1].

  Returns:
    The most thorough effort if none reaches the target; that is logged.
  """
  thorough = max(effort.num_to_rescore for effort in candidates)
  # Leaves -> whether the most rescoring is enough there.
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
  """Returns whole numbers from 1 to `largest`, each about a quarter above."""
  result, number = [], 1
  while number < largest:
    result.append(number)
    number = max(number + 1, math.floor(number * _LEAVES_RATIO))
  return [*result, largest]
