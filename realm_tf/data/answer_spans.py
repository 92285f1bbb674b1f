"""Finds answers in blocks by exact match of wordpieces, for training.

Evaluation compares words; `text.answers` says how often the results differ.
`is_inner`, bool [V], marks wordpieces inside words (`WordpieceTokenizer`): an
answer neither begins with one nor ends before one.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np

from realm_tf.data import block_table


def find(
  body_ids: np.ndarray,
  answers: Sequence[np.ndarray],
  max_width: int,
  is_inner: Optional[np.ndarray] = None,
) -> tuple[np.ndarray, np.ndarray]:
  """Marks S(z,y) of Section 3.2 of Guu et al. 2020, matched as in ORQA.

  Args:
    body_ids: int32 [N, Lz], zero-padded.
    answers: Wordpieces of each answer, int32 [width].
    max_width: W. Longer answers mark their block but have no span.

  Returns:
    Blocks with an answer, bool [N], and answers, bool [N, Lz, W]: element [n,
    s, w] is the span of w + 1 wordpieces from position s of block n.
  """
  is_answer = np.zeros([*body_ids.shape, max_width], bool)
  has_answer = np.zeros([len(body_ids)], bool)
  for answer in answers:
    blocks, starts = _occurrences(body_ids, answer, is_inner)
    has_answer[blocks] = True
    if len(answer) <= max_width:
      is_answer[blocks, starts, len(answer) - 1] = True
  return has_answer, is_answer


def contain(
  body_ids: np.ndarray,
  answers: Sequence[np.ndarray],
  is_inner: Optional[np.ndarray] = None,
) -> np.ndarray:
  """Returns whether each block of `body_ids` has an answer, bool [N]."""
  has_answer = np.zeros([len(body_ids)], bool)
  for answer in answers:
    has_answer[_occurrences(body_ids, answer, is_inner)[0]] = True
  return has_answer


def _occurrences(
  body_ids: np.ndarray, answer: np.ndarray, is_inner: Optional[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
  width, length = len(answer), body_ids.shape[1]
  if not 0 < width <= length:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)
  # Few positions have the first wordpiece; the others are not compared again.
  blocks, starts = np.nonzero(body_ids[:, : length - width + 1] == answer[0])
  for offset in range(1, width):
    same = body_ids[blocks, starts + offset] == answer[offset]
    blocks, starts = blocks[same], starts[same]
  if is_inner is not None:
    after = starts + width
    goes_on = is_inner[body_ids[blocks, np.minimum(after, length - 1)]]
    whole = ~(goes_on & (after < length) | is_inner[answer[0]])
    blocks, starts = blocks[whole], starts[whole]
  return blocks, starts


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
      if contain(bodies, wanted[width, int(value)]).any():
        return True
  return False


def _hashes(ids: np.ndarray) -> list[np.ndarray]:
  """Returns hashes of 1, 2, ... wordpieces, uint64 [N, L], [N, L - 1], ..."""
  ids, result = ids.astype(np.uint64), []
  for width in range(1, min(_MAX_WIDTH, ids.shape[1]) + 1):
    part = ids[:, width - 1 :] * _FACTORS[width - 1]
    result.append(part + result[-1][:, :-1] if result else part)
  return result
