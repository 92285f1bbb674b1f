"""A run directory for benchmarks/swaps.py: one index, published many times.

  random blocks -> one index version -> hard links of it under new steps

So twenty swaps cost no twenty builds; a reader hashes and loads each anew.
"""

import os

import numpy as np

from benchmarks import clustered_vectors
from realm_tf import config as config_lib
from realm_tf.index import embedding_shards
from realm_tf.index import index_plan
from realm_tf.index import searchers
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.records import query_files
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.rundir import versions

FINGERPRINT = 'random'
MASK_ID, SPECIAL_IDS = 4, (2, 3)
ORDINARY_IDS = np.arange(5, 8000, dtype=np.int32)
_NUM_QUERIES, _QUERY_TOKENS = 2000, 30
_NUM_TEXTS = 4096  # Blocks share texts, to save memory.


class RandomTable:
  """A `block_table.BlockTable` of random wordpieces, all of full length."""

  def __init__(self, num_blocks: int):
    self.num_blocks = num_blocks
    self.manifest = {'corpus_fingerprint': FINGERPRINT, 'vocabulary_sha256': ''}
    self.hashes = np.zeros(num_blocks, np.uint64)
    rng = np.random.default_rng(0)
    self._texts = rng.choice(ORDINARY_IDS, [_NUM_TEXTS, 512])

  def gather(self, ids: np.ndarray, title_length: int, body_length: int):
    """See `BlockTable.gather`."""
    ids = np.asarray(ids)
    known = ids[..., None] >= 0
    texts = self._texts[ids % _NUM_TEXTS] * known
    return texts[..., :title_length], texts[..., -body_length:]


def experiment(
  hidden_size: int, batch_size: int, searcher: str
) -> config_lib.ExperimentConfig:
  """Returns a config of two small layers."""
  bert = config_lib.BertConfig(
    vocab_size=8000,
    hidden_size=hidden_size,
    num_layers=2,
    num_heads=2,
    intermediate_size=4 * hidden_size,
    max_positions=256,
  )
  return config_lib.ExperimentConfig(
    model=config_lib.ModelConfig(embedder_bert=bert, reader_bert=bert),
    lengths=config_lib.LengthConfig(
      query_tokens=34, block_tokens=96, joint_tokens=128, title_tokens=8
    ),
    index=config_lib.IndexConfig(searcher=searcher),
    pretraining=config_lib.PretrainingConfig(
      optimizer=config_lib.OptimizerConfig(1e-4, 1_000_000),
      batch_size=batch_size,
      masking='random_span',
    ),
  )


def write_queries(directory: str, table: RandomTable) -> query_table.QueryTable:
  """Writes random queries and opens them."""
  rng = np.random.default_rng(1)
  query_files.write(
    (
      query_table.Query(
        rng.choice(ORDINARY_IDS, _QUERY_TOKENS), np.zeros([0, 2], np.int32)
      )
      for _ in range(_NUM_QUERIES)
    ),
    directory,
    table,
    masking='random_span',
    source={},
  )
  return query_table.QueryTable.open(directory)


def make_index(
  root: str,
  config: config_lib.ExperimentConfig,
  model: realm_model.RealmModel,
  num_blocks: int,
) -> versions.Version:
  """Makes version 0 below `root` of clustered vectors."""
  version = versions.Version(0, versions.version_path(root, 0))
  plan = index_plan.make(config, model, FINGERPRINT, num_blocks)
  index_plan.start(version.path, plan, model)
  size = config.model.embedder.embedding_size
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
    searchers.build(blocks, config.index),
  )


def publish_again(
  version: versions.Version, run_dir: str, step: int
) -> versions.Version:
  """Publishes a version of a local directory in `run_dir` as that of `step`."""
  manifest = versions.read_manifest(version.path)
  path = versions.version_path(layout.index_root(run_dir), step)
  for name in manifest['files']:
    link = os.path.join(path, name)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.link(os.path.join(version.path, name), link)
  own = ('step', 'files', 'manifest_sha256')
  metadata = {name: v for name, v in manifest.items() if name not in own}
  return versions.seal(path, step, manifest['files'], metadata)
