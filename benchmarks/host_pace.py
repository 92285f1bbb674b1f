r"""A host's part of a batch at the paper's size: seconds, by part, and waits.

  python -m benchmarks.host_pace [--num_blocks=13353718] [--step_secs=0.126]

The devices embed the queries and search; the host masks, chooses candidates,
gathers their wordpieces and splits arrays among replicas. Here random ids
replace the hits, and a pause of `--step_secs` the step. Blocks and queries are
random wordpieces on disk: 12 GB in TMPDIR. `ours` is seconds of one core a
batch, in case 'host' of all parts; the last rows are with one core.
"""

from collections.abc import Iterator
import os
import tempfile
import time
import types
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
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.model import strategies
from realm_tf.training import loop
from realm_tf.training import pretraining_batches

_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', 13_353_718, 'Blocks on disk.')
_STEP_SECS = flags.DEFINE_float('step_secs', 0.126, 'A step of the devices.')
_BATCHES = flags.DEFINE_integer('batches', 40, 'Batches of each measure.')
_BATCH_SIZE, _NUM_REPLICAS, _NUM_QUERIES, _OF_ARTICLE = 512, 64, 1_000_000, 4
_CHUNK = 1 << 18  # Rows written at once.
# Case, and its clocks of four; candidates are chosen in 'gather'.
_PARTS = ('mask', 0, 1), ('gather', 1, 2), ('split', 2, 3), ('host', 0, 3)


class _RandomHits:
  """A retriever that only sends the queries."""

  def __init__(self):
    self._rng = np.random.default_rng(0)

  def retrieve(self, queries: interfaces.Queries, k: int):
    _send({'ids': queries.ids})
    ids = self._rng.integers(0, _NUM_BLOCKS.value, [len(queries), k], np.int32)
    return interfaces.Neighbors(ids, np.zeros(ids.shape, np.float32))


def _write(
  directory: str, name: str, dtype: Any, number: int, low: int, high: int
) -> None:
  """Writes a column of random rows with lengths in [low, high]."""
  rng = np.random.default_rng(len(name))
  words = rng.integers(sizes.FIRST_WORD, sizes.VOCAB_SIZE, _CHUNK * high)
  writer = columns.Writer(directory, name, dtype)
  for start in range(0, number, _CHUNK):
    lengths = rng.integers(low, high + 1, min(_CHUNK, number - start))
    writer.extend(columns.Rows.of_lengths(words[: lengths.sum()], lengths))
  writer.close()


def _make_table(directory: str) -> block_table.BlockTable:
  number = _NUM_BLOCKS.value
  folder = os.path.join(directory, block_table.FOLDER)
  os.makedirs(folder)
  rows = (np.arange(number) // _OF_ARTICLE).astype(np.int32)
  np.save(os.path.join(folder, 'article_rows.npy'), rows)
  for name, dtype in block_table.COLUMNS.items():
    of_article = name in block_table.ARTICLE_COLUMNS
    lengths = {'title_ids': (1, 8), 'body_ids': (180, 280)}.get(name, (0, 0))
    size = int(rows[-1]) + 1 if of_article else number
    _write(folder, name, dtype, size, *lengths)
  return block_table.BlockTable(directory, {'num_blocks': number})


def _make_queries(directory: str) -> query_table.QueryTable:
  rng = np.random.default_rng(1)
  own = rng.integers(0, _NUM_BLOCKS.value, _NUM_QUERIES)
  np.save(os.path.join(directory, 'own_blocks.npy'), own)
  _write(directory, 'ids', np.int32, _NUM_QUERIES, 24, 94)
  _write(directory, 'texts', np.uint8, _NUM_QUERIES, 0, 0)
  starts = rng.integers(0, 20, [_NUM_QUERIES, 2])  # Two spans each.
  spans = np.stack([starts, starts + rng.integers(1, 4, starts.shape)], axis=2)
  writer = columns.Writer(directory, 'spans', np.int32)
  fours = np.full(_NUM_QUERIES, 4)
  writer.extend(columns.Rows.of_lengths(spans.ravel(), fours))
  writer.close()
  return query_table.QueryTable(directory, {'num_queries': _NUM_QUERIES})


def _send(batch: dict[str, Any]) -> None:
  """Splits a batch among the replicas; nothing is copied to a device."""
  strategies.spread(tf.distribute.get_strategy(), batch)


def _parts(batches: Any, cores: int) -> Iterator[dict[str, Any]]:
  """Yields a row of each part, and of all: medians of a batch."""
  items, found = batches.masked(), []
  for _ in range(1 + _BATCHES.value):
    begun, item, masked = _clocks(), next(items), _clocks()
    batch, gathered = batches.begin(item)(), _clocks()
    _send(batch)
    found.append([begun, masked, gathered, _clocks()])
  clocks = np.array(found[1:])
  for case, first, last in _PARTS:
    secs = np.median(clocks[:, last] - clocks[:, first], axis=0).tolist()
    yield printing.row(case, secs[0], wall_secs=secs[1], cores=cores)


def _clocks() -> tuple[float, float]:
  """Returns the seconds of this process's cores, and of the wall's clock."""
  return time.process_time(), time.perf_counter()


def _wait(batches: Iterator[dict[str, Any]]) -> float:
  """Returns the mean seconds that a step waits for its batch."""
  ready, waited = loop.prefetch(batches), []
  for _ in range(_BATCHES.value):
    begun = time.perf_counter()
    batch = next(ready)
    waited.append(time.perf_counter() - begun)
    _send(batch)
    time.sleep(_STEP_SECS.value)
  return float(np.mean(waited[2:]))


def _rows(directory: str) -> Iterator[dict[str, Any]]:
  batches = pretraining_batches.Batches(
    *(_make_queries(directory), _make_table(directory), _RandomHits()),
    tokenizer=types.SimpleNamespace(mask_id=103),
    experiment=config_files.override(
      config_lib.ExperimentConfig(),
      [f'pretraining.batch_size={_BATCH_SIZE}', 'held_out.share=0'],
    ),
    share=sampling.Share(has_fixed_shapes=True),
  )
  for cores in (2, 1):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    yield from _parts(batches, cores)
    wait_secs = _wait(iter(batches))
    yield printing.row('wait of a step', wait_secs, cores=cores)


def main(_):
  strategies.split_cpu(_NUM_REPLICAS)
  with (
    tempfile.TemporaryDirectory() as directory,
    strategies.create('mirrored').scope(),
  ):
    printing.print_rows('host_pace', 'seconds a batch', _rows(directory))


if __name__ == '__main__':
  app.run(main)
