"""Searches a corpus for any of many answers, by hashes of wordpieces."""

import collections
from collections.abc import Mapping, Sequence

import numpy as np

from realm_tf.records import answer_spans
from realm_tf.records import block_table

_FIRST_BLOCKS, _MAX_BLOCKS = 256, 8192  # Most searches end early.
_MAX_WIDTH = 8  # Wordpieces; only the first 8 of an answer are hashed.
_FACTORS = np.random.default_rng(0).integers(
  1, 1 << 62, _MAX_WIDTH, np.uint64
) * np.uint64(2) + np.uint64(1)


def is_any_in(
  table: block_table.BlockTable, answers: Sequence[np.ndarray], length: int
) -> bool:
  """Returns whether a block has an answer in its first `length` wordpieces.

  Each answer is its wordpieces, int32 [width].
  """
  wanted = collections.defaultdict(list)  # By width and hash.
  for answer in answers:
    start = np.asarray(answer[:_MAX_WIDTH])[None]
    if start.size:
      wanted[start.size, int(_hashes(start)[-1][0, 0])].append(answer)
  first, size = 0, _FIRST_BLOCKS
  while first < table.num_blocks:
    ids = np.arange(first, min(first + size, table.num_blocks))
    bodies = table.gather(ids, 1, length)[1]
    if _is_any_in(bodies, wanted):
      return True
    first, size = first + size, min(2 * size, _MAX_BLOCKS)
  return False


def _is_any_in(
  bodies: np.ndarray, wanted: Mapping[tuple[int, int], list[np.ndarray]]
) -> bool:
  for width, hashes in enumerate(_hashes(bodies), 1):
    known = np.array([h for w, h in wanted if w == width], np.uint64)
    for value in np.intersect1d(hashes, known):
      if answer_spans.contain(bodies, wanted[width, int(value)]).any():
        return True
  return False


def _hashes(ids: np.ndarray) -> list[np.ndarray]:
  """Returns hashes of 1, 2, ... wordpieces, uint64 [N, L], [N, L - 1], ..."""
  ids, result = ids.astype(np.uint64), []
  for width in range(1, min(_MAX_WIDTH, ids.shape[1]) + 1):
    part = ids[:, width - 1 :] * _FACTORS[width - 1]
    result.append(part + result[-1][:, :-1] if result else part)
  return result
