"""Measures an index of any size: time, memory, disk and pauses.

  python -m benchmarks.search_at_scale build DIRECTORY
  python -m benchmarks.search_at_scale serve DIRECTORY

ScaNN searches. benchmarks/search.py runs each command in its own process, to
measure its memory.
"""

from collections.abc import Iterator
import json
import os
import sys
import threading
import time

import numpy as np

from benchmarks import clustered_vectors
from benchmarks import peer_search
from benchmarks import processes

_SECS, _TICK_SECS = 5.0, 0.001


class _Ticker:
  """A thread that ticks: a gap is a pause by Python's lock or busy cores."""

  def __init__(self):
    self._longest = 0.0
    threading.Thread(target=self._work, daemon=True).start()

  def take_longest_ms(self) -> float:
    """Returns the longest gap since the last call."""
    longest, self._longest = self._longest, 0.0
    return 1e3 * longest

  def _work(self):
    last = time.perf_counter()
    while True:
      time.sleep(_TICK_SECS)
      now = time.perf_counter()
      self._longest = max(self._longest, now - last)
      last = now


def measure(directory: str) -> Iterator[tuple[str, float]]:
  """Yields cases and values for clustered_vectors' arrays in a directory."""
  for phase in ('build', 'serve'):
    cost = processes.run(
      [
        *(sys.executable, '-m', 'benchmarks.search_at_scale'),
        *(phase, directory),
      ]
    )
    print(cost.output)
    yield f'{phase}, peak GB of memory', cost.peak_mb / 1024
    yield from json.loads(cost.output.splitlines()[-1]).items()


def _build(directory: str) -> dict[str, float]:
  from realm_tf import config as config_lib
  from realm_tf.index import searchers

  blocks = clustered_vectors.read(directory, 'blocks')
  queries = np.array(clustered_vectors.read(directory, 'tuning_queries'))
  begun, used = time.perf_counter(), time.process_time()
  built = searchers.build(
    blocks, config_lib.IndexConfig(searcher='scann'), queries
  )
  built_secs = time.perf_counter() - begun
  core_secs = time.process_time() - used
  searchers.save(built.searcher, _index(directory))
  saved_secs = time.perf_counter() - begun - built_secs
  with open(os.path.join(directory, 'settings.json'), 'w') as file:
    json.dump(built.settings, file)
  [tuned] = built.settings['efforts']
  sizes = [entry.stat().st_size for entry in os.scandir(_index(directory))]
  return {
    'seconds to build and tune': built_secs,
    'core seconds to build and tune': core_secs,
    'seconds to save': saved_secs,
    'GB on disk, without the embeddings': sum(sizes) / 1e9,
    'recall@10 when tuned': tuned['measured'],
    'leaves to search': tuned['leaves_to_search'],
    'blocks to rescore': tuned['num_to_rescore'],
  }


def _serve(directory: str) -> dict[str, float]:
  from realm_tf.index import exact_search
  from realm_tf.index import searchers

  blocks = clustered_vectors.read(directory, 'blocks')
  queries = np.array(clustered_vectors.read(directory, 'queries'))
  with open(os.path.join(directory, 'settings.json')) as file:
    settings = json.load(file)

  def load(own_process=True):
    return searchers.load(settings, _index(directory), blocks, own_process)

  pauses, result = _Ticker(), {}
  for where, own_process in (('in this', False), ('in its own', True)):
    searcher = None  # Two are in memory only while one replaces the other.
    begun = time.perf_counter()
    pauses.take_longest_ms()
    searcher = load(own_process)
    result |= {
      f'seconds to load {where} process': time.perf_counter() - begun,
      f'longest pause of a load {where} process, ms': pauses.take_longest_ms(),
    }
    for batch in (1, 512):
      result[f'batch {batch}, {where} process, queries a second'] = (
        peer_search.queries_per_second(searcher.search, queries, batch, _SECS)
      )
  swap, searcher = _swap(searcher, load, queries, pauses)
  exact = exact_search.BruteForceSearcher(blocks)
  expected = exact.search(queries[:512], peer_search.TOP).block_ids
  found = searcher.search(queries[:512], peer_search.TOP).block_ids
  recall = peer_search.recall(found, expected)
  return {**result, **swap, 'recall@8': recall}


def _swap(searcher, load, queries, pauses):
  """Loads another searcher during searches; returns the pauses and it."""
  loaded = []
  thread = threading.Thread(target=lambda: loaded.append(load()))
  slowest = 0.0
  pauses.take_longest_ms()
  thread.start()
  while thread.is_alive():
    begun = time.perf_counter()
    searcher.search(queries[:512], peer_search.TOP)
    slowest = max(slowest, time.perf_counter() - begun)
  during = pauses.take_longest_ms()
  searcher = loaded.pop()
  searcher.search(queries[:512], peer_search.TOP)
  return {
    'longest pause of searches during a load, ms': during,
    'slowest batch of 512 during a load, ms': slowest * 1e3,
    'longest pause of a replacement, ms': pauses.take_longest_ms(),
  }, searcher


def _index(directory):
  return os.path.join(directory, 'index')


if __name__ == '__main__':
  print(
    json.dumps({'build': _build, 'serve': _serve}[sys.argv[1]](*sys.argv[2:]))
  )
