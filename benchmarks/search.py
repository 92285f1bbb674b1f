r"""Search over clustered or real vectors: queries per second, time to build.

  bash benchmarks/peers.sh
  python -m benchmarks.search --n=1000000
  python -m benchmarks.search --n=13353718      # Runs search_at_scale.
  python -m benchmarks.search --index=RUN/index/000000500 --model_dir=RUN \
      --questions=FILE                          # Real vectors.
  python -m benchmarks.search --n=100000 --uris=http://localhost:19530,lite.db

K is 8. The run tunes approximate searchers to a recall@8 of at least 0.95. Ours
and the peers run alternately on the same cores; medians count. Rivals: faiss'
IndexFlatIP for exact search, the fastest approximate peer for approximate
search, our ScaNN for Milvus (a server or a file of milvus-lite).
"""

import os
import statistics
import tempfile
import time

from absl import app
from absl import flags
import numpy as np

from benchmarks import clustered_vectors
from benchmarks import peer_search
from benchmarks import printing
from benchmarks import processes
from benchmarks import search_at_scale

_N = flags.DEFINE_integer('n', 1_000_000, 'Number of vectors.')
_INDEX = flags.DEFINE_string('index', None, 'Index version to search.')
_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Model of --index.')
_QUESTIONS = flags.DEFINE_string('questions', None, 'Queries of --index.')
_URIS = flags.DEFINE_list('uris', [], 'URIs of Milvus.')

_BATCHES = (1, 512)
_OURS = ('brute_force', 'device', 'scann')
_NUM_QUERIES = 1024
_NUM_THREADS = 2
_TURNS, _SECS = 5, 2.0  # The median counts.
_PEERS_UP_TO = 2_000_000  # Vectors.
_APPROXIMATE = ('faiss_fast_scan', 'lorann')


class _Ours:
  """Our searchers, in this process."""

  def __init__(self, directory: str):
    from realm_tf.index import exact_search

    read = clustered_vectors.read
    self.blocks = read(directory, 'blocks')
    self.queries = np.array(read(directory, 'queries'))
    self._tuning_queries = np.array(read(directory, 'tuning_queries'))
    exact = exact_search.BruteForceSearcher(self.blocks)
    self.expected = exact.search(self.queries, peer_search.TOP).block_ids
    np.save(clustered_vectors.path(directory, 'expected'), self.expected)
    self._searchers = {}

  def build(self, name):
    """Builds a searcher or a Milvus URI; `build_secs` are without tuning."""
    from realm_tf import config as config_lib
    from realm_tf.index import searchers

    chosen = {'searcher': name}
    if name not in _OURS:
      chosen = {'searcher': 'milvus', 'uri': name}
    config = config_lib.IndexConfig(**chosen, recall_target=0.0)
    begun = time.perf_counter()
    built = searchers.build(self.blocks, config, self._tuning_queries[:1])
    secs = time.perf_counter() - begun
    if name not in searchers.EXACT_KINDS:
      built = searchers.tune(
        *(built.searcher.searcher, built.settings),
        *(self.blocks, config_lib.IndexConfig(**chosen), self._tuning_queries),
      )
    self._searchers[name] = built.searcher
    found = built.searcher.search(self.queries, peer_search.TOP).block_ids
    recall = peer_search.recall(found, self.expected)
    print(name, f'{secs:.1f} s, recall@8 {recall:.4f}', built.settings)
    return {'build_secs': secs, 'recall': recall}

  def close(self):
    """Deletes the collections on Milvus servers."""
    from realm_tf.index import searchers

    for uri in _URIS.value:
      with tempfile.TemporaryDirectory() as directory:
        searchers.save(self._searchers[uri], directory)
        searchers.release({'kind': 'milvus'}, directory)

  def time(self, name, batch, secs):
    return peer_search.queries_per_second(
      lambda queries, k: self._searchers[name].search(queries, k),
      self.queries,
      batch,
      secs,
    )


def _take_turns(ours, peers, batch):
  """Returns name -> median queries per second."""
  rates = {}
  for _ in range(_TURNS):
    for name in (*_OURS, *_URIS.value):
      rates.setdefault(name, []).append(ours.time(name, batch, _SECS))
    for name in ('faiss_flat', *_APPROXIMATE) if peers else ():
      rates.setdefault(name, []).append(peers.ask(['time', name, batch, _SECS]))
  return {name: statistics.median(values) for name, values in rates.items()}


def _rivals(rates, built) -> dict[str, str]:
  """Returns our searcher -> its rival, the fastest with enough recall."""
  best = max(
    _APPROXIMATE,
    key=lambda name: (
      rates.get(name, 0)
      * (built.get(name, {}).get('recall', 1) >= peer_search.RECALL)
    ),
  )
  rivals = {'brute_force': 'faiss_flat', 'device': 'faiss_flat'}
  rivals['scann'] = best
  return rivals | dict.fromkeys(_URIS.value, 'scann')


def _compare(directory: str):
  """Yields the rows of the table with peers."""
  ours = _Ours(directory)
  built = {name: ours.build(name) for name in (*_OURS, *_URIS.value)}
  peers = None
  if processes.peer_python():
    command = [processes.peer_python(), '-m', 'benchmarks.peer_search']
    threads = str(_NUM_THREADS)
    peers = processes.Worker(
      [*command, directory, threads], OMP_NUM_THREADS=threads
    )
    for name in ('faiss_flat', *_APPROXIMATE):
      built[name] = peers.ask(['build', name])
      print(name, built[name])
  for batch in _BATCHES:
    rates = _take_turns(ours, peers, batch)
    print(f'batch {batch}:', {name: round(x, 1) for name, x in rates.items()})
    for name, rival in _rivals(rates, built).items():
      yield printing.row(
        f'{name}, batch {batch}, queries a second',
        rates[name],
        rates.get(rival),
        rival=rival,
        recall=built[name]['recall'],
        peer_recall=built.get(rival, {}).get('recall'),
      )
  for name in built:
    yield printing.row(f'{name}, seconds to build', built[name]['build_secs'])
  if peers:
    peers.close()
  ours.close()


def _write_real_vectors(directory: str) -> None:
  """Writes the embeddings of --index, and of --questions.

  Half of the questions search, half tune. They are distributed unlike blocks,
  so a searcher may be slower on them.
  """
  from realm_tf.corpus import questions as questions_lib
  from realm_tf.data import sampling
  from realm_tf.index import embedding
  from realm_tf.index import model_files
  from realm_tf.index import storage
  from realm_tf.model import realm_model

  index, num_queries = _INDEX.value, _NUM_QUERIES
  opened = model_files.open_model(_MODEL_DIR.value, [realm_model.EMBEDDER])
  embeddings = storage.read_embeddings(index, storage.read_manifest(index))
  length = opened.config.lengths.query_tokens
  embed = embedding.compile_queries(
    opened.model, length, opened.tokenizer.special_ids
  )
  drawn = np.random.default_rng(0).permutation(
    [row.question for row in questions_lib.read_questions(_QUESTIONS.value)]
  )
  ids = sampling.pad_rows(
    opened.tokenizer.token_ids_batch(list(drawn[: 2 * num_queries])), length - 2
  )
  rows = np.concatenate(
    [embed(ids[i : i + 64]) for i in range(0, len(ids), 64)]
  )
  for name, array in (
    ('blocks', np.asarray(embeddings)),
    ('queries', rows[:num_queries]),
    ('tuning_queries', rows[num_queries:]),
  ):
    np.save(clustered_vectors.path(directory, name), array)


def main(_):
  # All libraries and child processes take their number of threads from here.
  os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_NUM_THREADS])
  num_vectors = _N.value
  with tempfile.TemporaryDirectory() as directory:
    if _INDEX.value:
      _write_real_vectors(directory)
      num_vectors = len(clustered_vectors.read(directory, 'blocks'))
    else:
      clustered_vectors.write(directory, num_vectors, _NUM_QUERIES)
    if num_vectors <= _PEERS_UP_TO:
      rows = _compare(directory)
    else:
      found = search_at_scale.measure(directory)
      rows = (printing.row(*each) for each in found)
    printing.print_rows('search', 'see case', rows)


if __name__ == '__main__':
  app.run(main)
