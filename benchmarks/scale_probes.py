"""Measures the constants of scale_model, and what it predicts from them.

All in core seconds, of two cores, over the vectors of clustered_vectors.
"""

from collections.abc import Sequence
import itertools
import json
import os
import pathlib
import tempfile
import time
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy import optimize

from benchmarks import clustered_vectors
from benchmarks import embed_cases
from benchmarks import peer_search
from benchmarks import scale_model
from benchmarks import search_at_scale
from realm_tf import config as config_lib
from realm_tf.index import block_embeddings
from realm_tf.index import embed_backend
from realm_tf.index import scann_searcher
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import searchers
from realm_tf.index import tuning
from realm_tf.modeling import realm_model
from realm_tf.records import block_table

# A partition of few has as many blocks as one of 13 million's 3,654.
_BLOCKS, _FEW_LEAVES, _LEAVES, _SAMPLE = 200_000, 55, 1000, 5_000
_EMBEDDED = 4096
_QUERIES = 1024
_SECS = 0.3
_REPEATS = 3
_EFFORTS = [
  scale_model.Effort(leaves, rescored)
  for leaves in (1, 3, 10, 30)
  for rescored in (20, 100, 500)
]
_BERT = config_lib.BertConfig(
  vocab_size=30522,
  hidden_size=128,
  num_layers=2,
  num_heads=2,
  intermediate_size=512,
)


class _Built(NamedTuple):
  secs: float
  num_bytes: int
  searcher: scann_searcher.ScannSearcher


def fit(corpus_dir: str) -> scale_model.Constants:
  """Returns the constants of 200,000 vectors and a corpus: medians."""
  fits = [_fit(corpus_dir) for _ in range(_REPEATS)]
  return scale_model.Constants(*map(_median, zip(*fits, strict=True)))


def _median(values):
  """Returns the median of numbers or, of each field, of `Search`es."""
  if isinstance(values[0], tuple):
    return type(values[0])(*map(_median, zip(*values, strict=True)))
  return float(np.median(values))


def _fit(corpus_dir):
  with tempfile.TemporaryDirectory() as directory:
    clustered_vectors.write(directory, _BLOCKS, _QUERIES)
    blocks = np.array(clustered_vectors.read(directory, 'blocks'))
    queries = np.array(clustered_vectors.read(directory, 'queries'))
    few, many = _build(blocks, _FEW_LEAVES), _build(blocks, _LEAVES)
    sampled = _build(blocks, _LEAVES, _SAMPLE)
    begun = time.process_time()
    tuning.exact_ids(blocks, queries, 10)
    tune = (time.process_time() - begun) / _BLOCKS
    peaks = _peaks(directory)
  code, train, assign = _solve(few.secs, many.secs, sampled.secs)
  leaf_bytes = (many.num_bytes - few.num_bytes) / (_LEAVES - _FEW_LEAVES)
  num_bytes, wordpieces = corpus_size(corpus_dir)
  constants = scale_model.Constants(
    embed=embed_secs(_EMBEDDED),
    code=code,
    train=train,
    assign=assign,
    tune=tune,
    search=_fit_search([few, many], queries),
    block_bytes=(few.num_bytes - leaf_bytes * _FEW_LEAVES) / _BLOCKS,
    leaf_bytes=leaf_bytes,
    corpus_bytes=num_bytes / wordpieces,
    build_bytes=0,
    serve_bytes=0,
  )
  return constants._replace(
    build_bytes=peaks[0] - scale_model.build_peak(constants, _BLOCKS),
    serve_bytes=peaks[1] - scale_model.serve_peak(constants, _BLOCKS),
  )


def embed_secs(number: int) -> float:
  """Returns the core seconds to embed a block, of so many, by 2x128."""
  model = realm_model.RealmModel(
    config_lib.ModelConfig(embedder_bert=_BERT), [realm_model.EMBEDDER]
  )
  config = config_lib.IndexConfig()
  embed = embed_backend.opener(model, (101, 102), config)()
  *_, case = embed_cases.cases(number, None, 288)

  def run(ids):
    begun = time.process_time()
    block_embeddings.embed_blocks(
      embed, case.table, ids, case.lengths, block_embeddings.BATCH_SIZE
    )
    return (time.process_time() - begun) / len(ids)

  run(case.block_ids[:_EMBEDDED])  # Compiles.
  return run(case.block_ids)


def corpus_size(corpus_dir: str) -> tuple[int, int]:
  """Returns the bytes of a corpus, and the wordpieces of its blocks."""
  table = block_table.BlockTable.open(corpus_dir)
  titles, bodies = table.lengths(np.arange(table.num_blocks))
  files = pathlib.Path(corpus_dir).rglob('*')
  size = sum(file.stat().st_size for file in files)
  return size, int(titles.sum(dtype=np.int64) + bodies.sum(dtype=np.int64))


def measure_index(blocks: int) -> tuple[dict[str, float], scale_model.Effort]:
  """Builds, tunes and searches an index of so many vectors.

  Returns:
    Values by the names of scale.predict, and the effort that was tuned.
  """
  with tempfile.TemporaryDirectory() as directory:
    clustered_vectors.write(directory, blocks, _QUERIES)
    found = dict(search_at_scale.measure(directory, 'scann', 'memory'))
    index = os.path.join(directory, 'index')
    with open(os.path.join(directory, 'settings.json')) as file:
      settings = json.load(file)
    queries = np.array(clustered_vectors.read(directory, 'queries'))
    vectors = clustered_vectors.read(directory, 'blocks')
    search = searchers.load(settings, index, vectors).search
    [tuned] = settings['efforts']
    return {
      'build_secs': found['core seconds to build and tune'],
      'index_bytes': found['GB on disk, without the embeddings'] * 1e9,
      'build_peak': found['build, peak GB of memory'] * (1 << 30),
      'serve_peak': found['serve, peak GB of memory'] * (1 << 30),
      'single': _search_secs(search, queries, 1),
      'batch': _search_secs(search, queries, 512),
    }, scale_model.Effort(tuned['leaves_to_search'], tuned['num_to_rescore'])


def _build(blocks, leaves, sample=_BLOCKS):
  config = config_lib.IndexConfig(searcher='scann', num_leaves=leaves)
  # No config has it: only here does its cost matter.
  with mock.patch.object(scann_searcher, '_TRAINING_BLOCKS', sample):
    begun = time.process_time()
    searcher = scann_searcher.ScannSearcher.build(blocks, config)
    secs = time.process_time() - begun
  with tempfile.TemporaryDirectory() as directory:
    searcher.save(directory)
    sizes = [entry.stat().st_size for entry in os.scandir(directory)]
  return _Built(secs, sum(sizes), searcher)


def _solve(few, many, sampled):
  """Returns code, train and assign of three builds' core seconds."""
  pairs = [
    (_BLOCKS * _FEW_LEAVES, _BLOCKS * _FEW_LEAVES),
    (_BLOCKS * _LEAVES, _BLOCKS * _LEAVES),
    (_SAMPLE * _LEAVES, _BLOCKS * _LEAVES),
  ]
  work = np.array([(_BLOCKS, *pair) for pair in pairs], np.float64)
  return _relative_fit(work, np.array([few, many, sampled]))


def _relative_fit(work, secs):
  """Returns the costs, at least 0, with the least relative errors."""
  ones = np.ones(len(secs))
  scale = work.max(axis=0)
  costs, _ = optimize.nnls(work / scale / secs[:, None], ones)
  return [float(cost) for cost in costs / scale]


def _fit_search(
  indexes: Sequence[_Built], queries: np.ndarray
) -> scale_model.Search:
  work, secs = [], []
  for built in indexes:
    leaves = built.searcher.num_leaves
    for effort, batch in itertools.product(_EFFORTS, (1, 512)):
      if effort.leaves_to_search > leaves:
        continue
      work.append(scale_model.search_work(leaves, _BLOCKS, effort, batch))
      search = built.searcher.with_effort(searcher_lib.Effort(*effort)).search
      secs.append(_search_secs(search, queries, batch))
  return scale_model.Search(*_relative_fit(np.array(work), np.array(secs)))


def _search_secs(search, queries, batch):
  """Returns the core seconds of a query."""
  search(queries[:batch], peer_search.TOP)
  done, begun, used = 0, time.perf_counter(), time.process_time()
  while time.perf_counter() - begun < _SECS or done < len(queries):
    start = done % len(queries)
    search(queries[start : start + batch], peer_search.TOP)
    done += batch
  return (time.process_time() - used) / done


def _peaks(directory):
  """Returns the bytes that building and serving take."""
  found = dict(search_at_scale.measure(directory, 'scann', 'memory'))
  return [
    found[f'{phase}, peak GB of memory'] * (1 << 30)
    for phase in ('build', 'serve')
  ]
