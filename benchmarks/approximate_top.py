"""Recall of a TPU's approximate top k, by the bins of its algorithm.

  python -m benchmarks.approximate_top [--num_blocks=1000000] [--num_cores=64]

A TPU keeps the best score of each bin, and the top k of the bins (Chern et al.
2022, https://arxiv.org/abs/2206.14286). CPUs compute the op exactly, so NumPy
puts the scores into as many bins as XLA. The compiler chooses which rows share
a bin: neighbours, or rows a fixed distance apart. Blocks come in the order of
their clusters, as articles do; the retriever spreads them.
"""

from collections.abc import Iterator
import math
from typing import Any

from absl import app
from absl import flags
import numpy as np

from benchmarks import clustered_vectors
from benchmarks import printing
from realm_tf.index import exact_search
from realm_tf.retrieval import device_retriever

_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', 1_000_000, 'Blocks.')
_NUM_CORES = flags.DEFINE_integer('num_cores', 64, 'Cores that share them.')
_NUM_QUERIES, _K, _LANES = 512, 10, 128


def num_bins(size: int, k: int, recall_target: float) -> int:
  """Returns XLA's bins for rows of `size` scores (approx_topk_shape.cc)."""
  wanted = max(int((1 - k) / math.log(recall_target)), _LANES)
  halvings = min(int(math.log2(size / wanted)), int(math.log2(size / _LANES)))
  tiles = -(-size // _LANES)
  return size if halvings < 1 else -(-tiles // (1 << halvings)) * _LANES


def _kept(scores: np.ndarray, bins: int, are_neighbours: bool) -> np.ndarray:
  """Returns the columns of the best score of each bin, [Q, bins]."""
  width = scores.shape[1] // bins
  if are_neighbours:
    grouped = scores[:, : width * bins].reshape(len(scores), bins, width)
    return np.arange(bins) * width + grouped.argmax(axis=2)
  grouped = scores[:, : width * bins].reshape(len(scores), width, bins)
  return np.arange(bins) + bins * grouped.argmax(axis=1)


def _recall(blocks: np.ndarray, queries: np.ndarray, neighbours: bool) -> float:
  """Returns the share of the exact top k that the cores' bins keep."""
  exact = exact_search.BruteForceSearcher(blocks).search(queries, _K).block_ids
  size = device_retriever.part_size(len(blocks), _NUM_CORES.value)
  chunk = exact_search.chunk_rows(size, len(queries))
  found = []
  for first in range(0, len(blocks), size):
    part = blocks[first : first + size]
    for start in range(0, len(part), chunk):
      scores = queries @ part[start : start + chunk].T
      if scores.shape[1] < chunk:  # As padding.
        missing = [(0, 0), (0, chunk - scores.shape[1])]
        scores = np.pad(scores, missing, constant_values=-np.inf)
      bins = num_bins(chunk, _K, exact_search.RECALL_TARGET)
      columns = _kept(scores, bins, neighbours)
      values = np.take_along_axis(scores, columns, axis=1)
      best, _ = exact_search.largest(values, _K)
      columns = np.take_along_axis(columns, best, axis=1)
      found.append(first + start + columns)
  ids = np.concatenate(found, axis=1)
  return float((ids[:, :, None] == exact[:, None]).any(axis=1).mean())


def _rows() -> Iterator[dict[str, Any]]:
  number, rng = _NUM_BLOCKS.value, np.random.default_rng(1)
  centres = clustered_vectors.centres(number, clustered_vectors.DIMENSIONS)
  queries = clustered_vectors.draw(centres, _NUM_QUERIES, rng)
  blocks = clustered_vectors.draw(centres, number, rng)
  nearest = np.concatenate(
    [
      (some @ centres.T).argmax(axis=1)
      for some in np.array_split(blocks, max(1, number // 50_000))
    ]
  )
  in_order = blocks[np.argsort(nearest, kind='stable')]
  spread = in_order[device_retriever.spread(np.arange(number), number)]
  for order, blocks in ('in order', in_order), ('spread', spread):
    for bins, neighbours in ('neighbours', True), ('apart', False):
      recall = _recall(blocks, queries, neighbours)
      yield printing.row(f'{order}, bins of rows {bins}', recall)


def main(_):
  printing.print_rows('approximate_top', f'recall@{_K}', _rows())


if __name__ == '__main__':
  app.run(main)
