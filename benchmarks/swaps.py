r"""A trainer's step times during swaps of its index.

  python -m benchmarks.swaps --num_blocks=1000000 --num_swaps=20

Training steps of a small model search the index. Stretches with a swap
alternate with quiet stretches, the peer. Hard links publish one index of random
blocks under new steps. A stall is a step's time above the quiet median; the aim
is at most one median.
"""

from collections.abc import Iterator
import os
import tempfile
import time
from typing import Any, Optional

from absl import app
from absl import flags
import numpy as np

from benchmarks import clustered_vectors
from benchmarks import printing
from benchmarks import ticker as ticker_lib
from realm_tf import config as config_lib
from realm_tf.data import query_table
from realm_tf.index import embedding_shards
from realm_tf.index import searchers
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import job
from realm_tf.training import loop
from realm_tf.training import optimizer
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer
from tests import fakes

_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', 1_000_000, 'Blocks, N.')
_NUM_SWAPS = flags.DEFINE_integer('num_swaps', 20, 'Number of swaps.')
_STEPS = flags.DEFINE_integer(
  'steps', 20, 'Steps of a quiet stretch; fewest of a stretch with a swap.'
)
_WARM_UP_STEPS, _STEPS_AFTER = 5, 3  # The last 3 steps free the old index.
_FINGERPRINT = 'random'
_ORDINARY_IDS = np.arange(5, 8000, dtype=np.int32)
_NUM_QUERIES, _QUERY_TOKENS = 2000, 30
_NUM_TEXTS = 4096  # Blocks share texts, to save memory.
_BERT = config_lib.BertConfig(
  vocab_size=8000,
  hidden_size=128,
  num_layers=2,
  num_heads=2,
  intermediate_size=512,
  max_positions=256,
)
_CONFIG = config_lib.ExperimentConfig(
  model=config_lib.ModelConfig(embedder_bert=_BERT, reader_bert=_BERT),
  lengths=config_lib.LengthConfig(
    query_tokens=34, block_tokens=96, joint_tokens=128, title_tokens=8
  ),
  index=config_lib.IndexConfig(searcher='scann'),
  pretraining=config_lib.PretrainingConfig(
    optimizer=config_lib.OptimizerConfig(1e-4, 1_000_000),
    batch_size=2,
    masking='random_span',
  ),
)


class _RandomTable:
  """A `block_table.BlockTable` of random wordpieces of full length."""

  def __init__(self, num_blocks: int):
    self.num_blocks = num_blocks
    self.manifest = {
      'corpus_fingerprint': _FINGERPRINT,
      'vocabulary_sha256': _FINGERPRINT,
    }
    self.hashes = np.arange(num_blocks, dtype=np.uint64)
    rng = np.random.default_rng(0)
    self._texts = rng.choice(_ORDINARY_IDS, [_NUM_TEXTS, 512])

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    ids = np.asarray(ids)
    known = ids[..., None] >= 0
    texts = self._texts[ids % _NUM_TEXTS] * known
    return texts[..., :title_length], texts[..., -body_length:]


def _write_queries(directory: str, table: Any) -> query_table.QueryTable:
  rng = np.random.default_rng(1)
  no_spans = np.zeros([0, 2], np.int32)
  query_table.write(
    (
      query_table.Query(rng.choice(_ORDINARY_IDS, _QUERY_TOKENS), no_spans)
      for _ in range(_NUM_QUERIES)
    ),
    directory,
    table,
    masking='random_span',
    source={},
  )
  return query_table.QueryTable.open(directory)


def _make_index(root: str, model: realm_model.RealmModel) -> versions.Version:
  """Makes an index version of clustered vectors in `root`."""
  num_blocks = _NUM_BLOCKS.value
  version = versions.Version(0, versions.version_path(root, 0))
  plan = storage.make_plan(_CONFIG, model, _FINGERPRINT, num_blocks)
  storage.begin(version.path, plan, model)
  size = _CONFIG.model.embedder.embedding_size
  blocks = clustered_vectors.draw(
    clustered_vectors.centres(num_blocks, size),
    num_blocks,
    np.random.default_rng(1),
  )
  shards = [
    embedding_shards.write(
      version.path, f'{i:05d}.npy', blocks[plan.shard_rows(i)], 'float32'
    )
    for i in range(plan.num_shards)
  ]
  return storage.complete(
    version,
    plan,
    shards,
    'benchmark',
    np.arange(num_blocks, dtype=np.uint64),
    searchers.build(blocks, _CONFIG.index),
  )


class _Training:
  """A trainer with its batches and index."""

  def __init__(self, directory: str):
    self._run_dir = os.path.join(directory, 'run')
    os.makedirs(self._run_dir)
    table = _RandomTable(_NUM_BLOCKS.value)
    tokenizer = fakes.tokenizer(' '.join(f'w{i}' for i in _ORDINARY_IDS))
    inputs = job.Inputs(
      _CONFIG, '', table, tokenizer, tokenizer.special_ids, _ORDINARY_IDS
    )
    model = realm_model.RealmModel(
      _CONFIG.model, [realm_model.MASKED_LM, realm_model.EMBEDDER]
    )
    self._search = pretraining_batches.IndexSearch(inputs, self._run_dir)
    self._trainer = pretraining_trainer.PretrainingTrainer(
      optimizer.create(_CONFIG.pretraining.optimizer),
      model,
      _CONFIG,
      special_ids=tokenizer.special_ids,
    )
    self._batches = loop.prefetch(
      pretraining_batches.batches(
        _write_queries(os.path.join(directory, 'queries'), table),
        table,
        self._search,
        tokenizer=tokenizer,
        experiment=_CONFIG,
        index_step=lambda: self._search.step,
      )
    )
    self._index = _make_index(os.path.join(directory, 'made'), model)
    self._publish(0)

  def stretch(self, num_steps: int, step: Optional[int] = None) -> list[float]:
    """Returns the seconds of steps, with a swap to the index of `step`."""
    if step is not None:
      self._publish(step)
    secs = []
    while len(secs) < num_steps or self._search.step < (step or 0):
      secs.append(self._step())
    return secs + [self._step() for _ in range(_STEPS_AFTER)]

  def _step(self) -> float:
    begun = time.monotonic()
    self._trainer.train_step(self._batches)
    return time.monotonic() - begun

  def _publish(self, step: int) -> None:
    """Publishes the index again; a reader hashes and loads it again."""
    manifest = versions.read_manifest(self._index.path)
    path = versions.version_path(layout.index_root(self._run_dir), step)
    for name in manifest['files']:
      link = os.path.join(path, name)
      os.makedirs(os.path.dirname(link), exist_ok=True)
      os.link(os.path.join(self._index.path, name), link)
    own = ('step', 'files', 'manifest_sha256')
    metadata = {name: v for name, v in manifest.items() if name not in own}
    versions.seal(path, step, manifest['files'], metadata)


def _rows(training: _Training) -> Iterator[dict[str, Any]]:
  training.stretch(_WARM_UP_STEPS)
  ticker = ticker_lib.Ticker()
  secs: dict[bool, list[float]] = {False: [], True: []}
  gaps = {False: 0.0, True: 0.0}
  for step in range(1, _NUM_SWAPS.value + 1):
    for with_swap in (False, True):
      ticker.take_longest()
      secs[with_swap] += training.stretch(
        _STEPS.value, step if with_swap else None
      )
      gaps[with_swap] = max(gaps[with_swap], ticker.take_longest())
    print(f'swap {step}', flush=True)
  swapping, quiet = (1000 * np.array(secs[name]) for name in (True, False))
  for case, percent in (('median', 50), ('99th percentile', 99)):
    yield printing.row(
      f'{case}, ms a step',
      np.percentile(swapping, percent),
      np.percentile(quiet, percent),
      num_steps=[len(swapping), len(quiet)],
    )
  median = np.median(quiet)
  yield printing.row(
    'longest stall, median steps',
    swapping.max() / median - 1,
    quiet.max() / median - 1,
  )
  yield printing.row(
    'longest gap of a thread that ticks every ms, ms',
    1000 * gaps[True],
    1000 * gaps[False],
  )


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    rows = _rows(_Training(directory))
    printing.print_rows('swaps', 'see case', rows)


if __name__ == '__main__':
  app.run(main)
