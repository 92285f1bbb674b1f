"""Builds, tunes and times other libraries' search.

Run by benchmarks/search.py with the interpreter of benchmarks/peers.sh:

  python -m benchmarks.peer_search DIRECTORY NUM_THREADS

Answers each JSON line ["build", NAME] or ["time", NAME, BATCH, SECONDS].
"""

from collections.abc import Callable
import json
import sys
import time

import numpy as np

from benchmarks import clustered_vectors

TOP = 8
RECALL = 0.95
# [Q, D], K -> ids [Q, K].
Search = Callable[[np.ndarray, int], np.ndarray]


def recall(found: np.ndarray, expected: np.ndarray) -> float:
  """Returns the share of `expected`, [Q, K], that is in `found`, [Q, K]."""
  return float((found[:, :, None] == expected[:, None]).any(1).mean())


def queries_per_second(
  search: Search, queries: np.ndarray, batch: int, secs: float
) -> float:
  """Searches batches for `secs` seconds, at least one batch."""
  search(queries[:batch], TOP)
  done, begun = 0, time.perf_counter()
  while True:
    start = done % (len(queries) - batch + 1)
    search(queries[start : start + batch], TOP)
    done += batch
    passed = time.perf_counter() - begun
    if passed > secs:
      return done / passed


def _build_flat(blocks, num_threads):
  import faiss

  faiss.omp_set_num_threads(num_threads)
  index = faiss.IndexFlatIP(blocks.shape[1])
  index.add(blocks)
  return [lambda queries, k: index.search(queries, k)[1]]


def _build_fast_scan(blocks, num_threads):
  """Returns a row of searches for each refinement, cheap searches first."""
  import faiss

  faiss.omp_set_num_threads(num_threads)
  width = blocks.shape[1]
  index = faiss.index_factory(
    width,
    f'IVF{round(len(blocks) ** 0.5)},PQ{width // 2}x4fs,RFlat',
    faiss.METRIC_INNER_PRODUCT,
  )
  index.train(blocks)
  index.add(blocks)

  def search(probes, factor):
    parameters = faiss.IndexRefineSearchParameters(
      k_factor=factor,
      base_index_params=faiss.IVFSearchParameters(nprobe=probes),
    )
    return lambda queries, k: index.search(queries, k, params=parameters)[1]

  return [
    [search(probes, factor) for probes in (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)]
    for factor in (1.5, 2, 3, 4, 6, 8, 12, 16, 32)
  ]


def _build_lorann(blocks, num_threads):
  import lorann

  index = lorann.LorannIndex(
    blocks, n_clusters=round(len(blocks) ** 0.5), global_dim=None
  )
  index.build(n_threads=num_threads)

  def search(clusters, rescored):
    return lambda queries, k: index.search(
      queries, k, clusters, rescored, n_threads=num_threads
    )

  return [
    [search(clusters, rescored) for clusters in (2, 4, 8, 12, 16, 24, 32, 64)]
    for rescored in (16, 32, 64, 100, 200, 400, 800)
  ]


_BUILDERS = {
  'faiss_flat': _build_flat,
  'faiss_fast_scan': _build_fast_scan,
  'lorann': _build_lorann,
}


def _tune(rows, queries, expected):
  """Returns recall and search: the fastest with RECALL, else the best."""
  best, most_accurate = (0.0, 0.0, None), (0.0, None)
  for searches in rows:
    for search in searches:
      found = recall(search(queries, TOP), expected)
      most_accurate = max(
        most_accurate, (found, search), key=lambda row: row[0]
      )
      if found >= RECALL:
        rate = queries_per_second(search, queries, len(queries), 0.5)
        best = max(best, (rate, found, search), key=lambda row: row[0])
        break
  return most_accurate if best[2] is None else best[1:]


def main(directory: str, num_threads: str) -> None:
  blocks = np.array(clustered_vectors.read(directory, 'blocks'))
  queries = np.array(clustered_vectors.read(directory, 'queries'))
  expected = np.array(clustered_vectors.read(directory, 'expected'))
  tuned = {}
  for line in sys.stdin:
    verb, name, *more = json.loads(line)
    if verb == 'build':
      begun = time.perf_counter()
      built = _BUILDERS[name](blocks, int(num_threads))
      secs = time.perf_counter() - begun
      if name == 'faiss_flat':
        tuned[name], found = built[0], 1.0
      else:
        found, tuned[name] = _tune(built, queries, expected)
      answer = {'build_secs': secs, 'recall': found}
    else:
      answer = queries_per_second(tuned[name], queries, *more)
    print(json.dumps(answer), flush=True)


if __name__ == '__main__':
  main(*sys.argv[1:])
