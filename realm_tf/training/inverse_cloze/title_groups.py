"""Groups examples of one title in a batch, as hard negatives of each other.

The subject alone distinguishes blocks of different articles. Blocks of one
title teach the retriever to use the rest of the text.
"""

from collections.abc import Callable, Sequence
import math

import numpy as np

from realm_tf.records import sampling


def sampler(
  block_ids: np.ndarray,
  titles: Sequence[str],
  lengths: np.ndarray,
  *,
  batch_size: int,
  of_title: int,
  bucket_batches: int,
  seed: int,
) -> Callable[[int], np.ndarray]:
  """Returns a function from a step to the numbers of its examples, [B].

  Args:
    block_ids: Block of each of P examples. A group holds different blocks of
      its title where it can.
    titles: Titles of the P blocks.
    lengths: Lengths of the P blocks, int [P].
    of_title: Size of a group; its greatest common divisor with `batch_size` is
      used.
    bucket_batches: Number of batches that are sorted together by length.
  """
  size = math.gcd(of_title, batch_size)
  groups = _groups(block_ids, titles, lengths, size, seed)
  dealt = sampling.BucketSampler(
    sampling.Sampler(len(groups), batch_size // size, seed),
    lengths[groups].max(axis=1),
    bucket_batches,
    seed,
  )
  return lambda step: groups[dealt.rows(step)].ravel()


def _groups(
  block_ids: np.ndarray,
  titles: Sequence[str],
  lengths: np.ndarray,
  size: int,
  seed: int,
) -> np.ndarray:
  """Returns groups of examples, [G, size].

  Each title's examples are sorted by round (the first example of each block,
  then the second), then by length, and cut into groups. The rest forms groups
  of several titles; the last group may repeat examples.
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


def _turns(ids: np.ndarray) -> np.ndarray:
  """Returns the number of earlier occurrences of each id, int [P]."""
  order = np.argsort(ids, kind='stable')
  _, first, counts = np.unique(
    ids[order], return_index=True, return_counts=True
  )
  turns = np.empty_like(order)
  turns[order] = np.arange(len(ids)) - np.repeat(first, counts)
  return turns
