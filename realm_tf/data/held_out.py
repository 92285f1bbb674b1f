"""Held-out articles: a fixed share that is never trained on.

A hash of an article's title, or of its id if it has no title, decides; so all
jobs agree, on any corpus.
"""

from collections.abc import Collection
import hashlib

import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import query_table
from realm_tf.data import sampling

_BYTES = 8
_FEWEST = 3  # Articles of a small text; a third at most.


def is_held_out(name: str, share: float) -> bool:
  """Returns whether an article is held out; a larger share adds articles."""
  return _place(name) < share * 256**_BYTES


def share_of(names: Collection[str]) -> float:
  """Returns the share that holds out a tenth of `names`; 0 for two names."""
  number = min(max(_FEWEST, round(0.1 * len(names))), len(names) // 3)
  if not number:
    return 0.0
  last, following = sorted(map(_place, names))[number - 1 : number + 1]
  return (last + following) / 2 / 256**_BYTES


def _place(name: str) -> int:
  """Returns the hash of a name; those below the share are held out."""
  digest = hashlib.sha256(name.encode()).digest()[:_BYTES]
  return int.from_bytes(digest, 'big')


def blocks(table: block_table.BlockTable, share: float) -> np.ndarray:
  """Returns whether each block's article is held out, bool [N]."""
  if not share:
    return np.zeros(table.num_blocks, bool)
  names = zip(table.all_titles(), table.all_article_ids(), strict=True)
  held_out = [is_held_out(title or key, share) for title, key in names]
  return np.array(held_out, bool)[table.article_rows]


def queries(
  table: query_table.QueryTable, corpus: block_table.BlockTable, share: float
) -> np.ndarray:
  """Returns whether the article of each query is held out, bool [num_queries].

  A hash of its text decides for a query without an own block in `corpus`.
  """
  if not share:
    return np.zeros(table.num_queries, bool)
  own = table.own_blocks
  result = blocks(corpus, share)[np.maximum(own, 0)]
  for row in np.flatnonzero(own == interfaces.NULL_BLOCK):
    result[row] = is_held_out(table.query(row).text, share)
  return result


def choose(is_held_out: np.ndarray, number: int, seed: int) -> np.ndarray:
  """Returns at most `number` of the held-out rows, int64 [n], ascending."""
  rng = sampling.step_rng(seed, 0)
  rows = rng.permutation(np.flatnonzero(is_held_out))
  return np.sort(rows[:number])


def others(is_held_out: np.ndarray) -> np.ndarray:
  """Returns the rows to train on, int64 [n]; UserError if there are none."""
  if is_held_out.all():
    raise errors.UserError(
      'Some articles must be left to train on. Found all held out. Lower '
      'held_out.share.'
    )
  return np.flatnonzero(~is_held_out)
