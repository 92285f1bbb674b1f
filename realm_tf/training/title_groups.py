"""Deals examples of one title together: hard negatives of each other.

  titles and lengths of the examples -> [this file] -> step -> which examples

Blocks of other articles are told apart by their subject alone; only the other
blocks of a title make a retriever look at what a block says.
"""

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np

from realm_tf.records import sampling


class Dealing(NamedTuple):
  """How examples are dealt.

  Attributes:
    batch_size: B.
    of_title: How many of one title are dealt together; its largest common
      divisor with the batch size is taken.
    bucket_batches: Batches that are dealt by length; see `BucketSampler`.
    seed: Random seed of the order.
  """

  batch_size: int
  of_title: int
  bucket_batches: int
  seed: int


def sampler(
  block_ids: np.ndarray,
  titles: Sequence[str],
  lengths: np.ndarray,
  dealing: Dealing,
) -> Callable[[int], np.ndarray]:
  """Returns a function from a step to the numbers of its examples, [B].

  Args:
    block_ids: Of the P examples, int [P]; those of one block are kept apart
      where there are others of its title.
    titles: Of the examples' blocks.
    lengths: Of the examples' blocks, int [P].
    dealing: See there.
  """
  size = math.gcd(dealing.of_title, dealing.batch_size)
  groups = _groups(block_ids, titles, lengths, size, dealing.seed)
  dealt = sampling.BucketSampler(
    sampling.Sampler(len(groups), dealing.batch_size // size, dealing.seed),
    lengths[groups].max(axis=1),
    dealing.bucket_batches,
    dealing.seed,
  )
  return lambda step: groups[dealt.rows(step)].ravel()


def _groups(block_ids, titles, lengths, size, seed):
  """Returns examples as [G, size], most of them of one title, other blocks.

  Those of a title are ordered so that its blocks take turns, and by length, so
  that groups are of like length; what is left over makes groups of several
  titles. The last may deal an example twice.
  """
  order = np.random.default_rng(seed).permutation(len(block_ids))
  turns = _turns(block_ids[order])
  _, subjects = np.unique(np.asarray(titles)[order], return_inverse=True)
  order = order[np.lexsort([lengths[order], turns, subjects])]
  subjects = np.sort(subjects)
  counts = np.bincount(subjects)[subjects]
  is_whole = _turns(subjects) < counts - counts % size
  whole, rest = order[is_whole], order[~is_whole]
  rest = np.resize(rest, [-(-len(rest) // size) * size])
  return np.concatenate([whole, rest]).reshape([-1, size])


def _turns(ids):
  """Returns how often each id came before, int [P]."""
  order = np.argsort(ids, kind='stable')
  _, first, counts = np.unique(
    ids[order], return_index=True, return_counts=True
  )
  turns = np.empty_like(order)
  turns[order] = np.arange(len(ids)) - np.repeat(first, counts)
  return turns
