r"""A host's part of a batch at the paper's size: seconds, by part, and waits.

  python -m benchmarks.host_pace [--num_blocks=13353718] [--step_secs=0.126]

The devices embed the queries and search; the host masks, selects candidates,
gathers their wordpieces and sends arrays. Here random ids replace the hits and
a pause of `--step_secs` the step. Blocks and queries are random wordpieces on
disk.

`ours` of case 'host' is seconds of one core a batch.
"""

from collections.abc import Callable, Iterator
import itertools
import os
import tempfile
import time
from typing import Any

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import printing
from benchmarks import sizes
from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.config import config_files
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.model import strategies
from realm_tf.run import layout
from realm_tf.training import loop
from realm_tf.training import pretraining_batches

_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', 13_353_718, 'Blocks on disk.')
_STEP_SECS = flags.DEFINE_float('step_secs', 0.126, 'A step of the devices.')
_BATCHES = flags.DEFINE_integer('batches', 40, 'Batches of each measure.')
_NUM_CORES = flags.DEFINE_integer('num_cores', 64, 'Replicas.')
_BATCH_SIZE, _NUM_QUERIES, _MASK_ID = 512, 1_000_000, 103
_BLOCKS_AN_ARTICLE = 4
_CHUNK = 1 << 18  # Rows written at once.
_SHARE = sampling.Share(has_fixed_shapes=True)


class _Tokenizer:
  mask_id = _MASK_ID


class _RandomHits:
  """A retriever that costs nothing."""

  def __init__(self, num_blocks: int):
    rng = np.random.default_rng(0)
    self._pool = rng.integers(0, num_blocks, [64, _BATCH_SIZE, 32], np.int32)
    self._next = itertools.cycle(self._pool)

  def retrieve(self, queries: interfaces.Queries, k: int):
    ids = next(self._next)[: len(queries), :k]
    return interfaces.Neighbors(ids, np.zeros(ids.shape, np.float32))


def _write(
  directory: str, name: str, dtype: Any, number: int, low: int, high: int
) -> None:
  """Writes a column of random rows with lengths in [low, high]."""
  rng = np.random.default_rng(len(name))
  words = rng.integers(sizes.FIRST_WORD, 30_000, _CHUNK * high)
  words = words.astype(dtype)
  writer = columns.Writer(directory, name, dtype)
  for start in range(0, number, _CHUNK):
    lengths = rng.integers(low, high + 1, min(_CHUNK, number - start))
    writer.extend(columns.Rows.of_lengths(words[: lengths.sum()], lengths))
  writer.close()


def _make_table(directory: str, number: int) -> block_table.BlockTable:
  folder = os.path.join(directory, block_table.FOLDER)
  os.makedirs(folder)
  articles = -(-number // _BLOCKS_AN_ARTICLE)
  rows = (np.arange(number) // _BLOCKS_AN_ARTICLE).astype(np.int32)
  np.save(os.path.join(folder, 'article_rows.npy'), rows)
  for name, dtype in block_table.COLUMNS.items():
    of_article = name in block_table.ARTICLE_COLUMNS
    lengths = {'title_ids': (1, 8), 'body_ids': (180, 280)}.get(name, (0, 0))
    _write(folder, name, dtype, articles if of_article else number, *lengths)
  with open(layout.vocab_file(directory), 'w') as file:
    file.write('a\n' * sizes.VOCAB_SIZE)
  return block_table.BlockTable(directory, {'num_blocks': number})


def _make_queries(directory: str, num_blocks: int) -> query_table.QueryTable:
  rng = np.random.default_rng(1)
  own = rng.integers(0, num_blocks, _NUM_QUERIES)
  np.save(os.path.join(directory, 'own_blocks.npy'), own)
  _write(directory, 'ids', np.int32, _NUM_QUERIES, 24, 94)
  _write(directory, 'texts', np.uint8, _NUM_QUERIES, 150, 150)
  starts = rng.integers(0, 20, [_NUM_QUERIES, 2])  # Two spans each.
  spans = np.stack([starts, starts + rng.integers(1, 4, starts.shape)], axis=2)
  writer = columns.Writer(directory, 'spans', np.int32)
  fours = np.full(_NUM_QUERIES, 4)
  writer.extend(columns.Rows.of_lengths(spans.ravel().astype(np.int32), fours))
  writer.close()
  return query_table.QueryTable(directory, {'num_queries': _NUM_QUERIES})


def _secs(work: Callable[[int], Any]) -> tuple[float, float]:
  """Returns the median seconds of a call, and the seconds of all cores."""
  walls, cores = [], []
  for i in range(_BATCHES.value):
    begun, used = time.perf_counter(), time.process_time()
    work(i)
    walls.append(time.perf_counter() - begun)
    cores.append(time.process_time() - used)
  return float(np.median(walls)), float(np.median(cores))


def _rows(directory: str) -> Iterator[dict[str, Any]]:
  number = _NUM_BLOCKS.value
  table = _make_table(os.path.join(directory, 'corpus'), number)
  queries_dir = os.path.join(directory, 'queries')
  os.makedirs(queries_dir)
  queries = _make_queries(queries_dir, number)
  config = config_files.override(
    config_lib.ExperimentConfig(),
    [f'pretraining.batch_size={_BATCH_SIZE}', 'held_out.share=0'],
  )
  retriever = _RandomHits(number)

  def make():
    batches = pretraining_batches.Batches(
      queries,
      table,
      retriever,
      tokenizer=_Tokenizer(),
      experiment=config,
      share=_SHARE,
    )
    return iter(batches)

  for cores in {1, len(os.sched_getaffinity(0))}:
    os.sched_setaffinity(0, range(cores))
    yield from _parts(queries, table, retriever, config, cores)
    batches = make()
    next(batches)
    wall, used = _secs(lambda i, batches=batches: _send(next(batches)))
    yield printing.row('host', used, wall_secs=wall, cores=cores)
    yield printing.row('wait of a step', _waits(make()), cores=cores)


def _parts(queries, table, retriever, config, cores):
  """Yields a row for each part of a batch."""
  how = masking.of_config(config, _MASK_ID)
  rows = np.random.default_rng(2).integers(
    0, _NUM_QUERIES, [_BATCHES.value, _BATCH_SIZE]
  )
  rng = np.random.default_rng(3)
  masked, chosen, blocks = [], [], []
  hits = interfaces.Queries(np.zeros([_BATCH_SIZE, 1], np.int32), list)
  parts = {
    'mask': lambda i: masked.append(
      masking.mask_batch(queries, rows[i], how, rng)
    ),
    'choose': lambda i: chosen.append(
      pretraining_batches.choose(
        retriever.retrieve(hits, 10).block_ids,
        *(masked[i], table),
        experiment=config,
      )
    ),
    'gather': lambda i: blocks.append(
      pretraining_batches.with_blocks(
        chosen[i], table, config.lengths, share=_SHARE
      )
    ),
    'send': lambda i: _send(blocks[i]),
  }
  for name, work in parts.items():
    wall, used = _secs(work)
    yield printing.row(name, used, wall_secs=wall, cores=cores)


def _send(batch: dict[str, Any]) -> None:
  """Splits a batch among the replicas; nothing is copied to a device."""
  strategies.spread(
    tf.distribute.get_strategy(),
    {n: each for n, each in batch.items() if not isinstance(each, int)},
  )


def _waits(batches: Iterator[dict[str, Any]]) -> float:
  """Returns the mean seconds that a step waits for its batch."""
  ready, waited = loop.prefetch(batches), []
  for _ in range(_BATCHES.value):
    begun = time.perf_counter()
    batch = next(ready)
    waited.append(time.perf_counter() - begun)
    _send(batch)
    time.sleep(_STEP_SECS.value)
  ready.close()
  return float(np.mean(waited[2:]))


def main(_):
  strategies.split_cpu(_NUM_CORES.value)
  with (
    tempfile.TemporaryDirectory() as directory,
    strategies.create('mirrored').scope(),
  ):
    printing.print_rows('host_pace', 'seconds a batch', _rows(directory))


if __name__ == '__main__':
  app.run(main)
