"""A corpus of random blocks of different lengths, and a model to embed it."""

import functools
import os

import numpy as np
import tf_keras

from realm_tf import config as config_lib
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.data import block_table
from realm_tf.index import embedding
from realm_tf.index import embedding_shards
from realm_tf.index import model_files
from realm_tf.index import searchers
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from tests import fakes
from tests import tiny

TOKENIZER = fakes.tokenizer('a b c d e f g h i j k l m n o')  # 20 words.
SPECIAL_IDS = TOKENIZER.special_ids
FINGERPRINT = 'f' * 64  # The corpus that `complete` indexes.
_BERT = tiny.bert(
  vocab_size=TOKENIZER.vocab_size,
  intermediate_size=16,
  max_positions=64,
  initializer_range=0.5,
  dropout_rate=0.1,
  attention_dropout_rate=0.1,
)
CONFIG = config_lib.ExperimentConfig(
  model=config_lib.ModelConfig(
    embedder_bert=_BERT,
    reader_bert=_BERT,
    embedder=config_lib.EmbedderConfig(embedding_size=4),
    train_dtype='float32',
  ),
  index=config_lib.IndexConfig(embed_dtype='float32'),
  lengths=config_lib.LengthConfig(
    query_tokens=16, block_tokens=40, joint_tokens=60, title_tokens=3
  ),
)


def model(seed: int = 0) -> realm_model.RealmModel:
  """Returns both embedders with random weights."""
  tf_keras.utils.set_random_seed(seed)  # Keras uses Python's random.
  return realm_model.RealmModel(CONFIG.model, [realm_model.EMBEDDER])


# The model of `complete`, which no test changes.
indexed_model = functools.cache(model)


def blocks(body_lengths) -> list[blocks_lib.Block]:
  """Returns random blocks of these lengths; titles have 1 to 5 wordpieces."""
  rng = np.random.default_rng(0)
  result = []
  for i, length in enumerate(body_lengths):
    title_ids = rng.integers(5, 20, 1 + i % 5)
    result.append(
      blocks_lib.Block(
        f'title {i}',
        f'text {i}',
        f'article {i}',
        title_ids.astype(np.int32),
        rng.integers(5, 20, length).astype(np.int32),
        np.array([length], np.int32),
      )
    )
  return result


def write_corpus(directory: str, body_lengths) -> str:
  """Writes a corpus below `directory` and returns its path."""
  corpus_dir = os.path.join(directory, 'corpus')
  tiny.write_blocks(blocks(body_lengths), corpus_dir, TOKENIZER, 288)
  return corpus_dir


def open_corpus(directory: str, body_lengths) -> block_table.BlockTable:
  """Writes a corpus below `directory` and opens it."""
  return block_table.BlockTable.open(write_corpus(directory, body_lengths))


def make_run(directory: str, corpus_dir: str) -> str:
  """Writes config and vocabulary below `directory`; returns the run's path."""
  run_dir = os.path.join(directory, 'run')
  model_files.create(run_dir, CONFIG, layout.vocab_file(corpus_dir))
  return run_dir


def publish_params(
  run_dir: str, step: int, embedder: realm_model.RealmModel
) -> versions.Version:
  """Publishes a model's parameters, as a trainer does."""
  return model_files.publish(run_dir, step, weights.values(embedder.variables))


def embed_all(
  table: block_table.BlockTable, embedder: realm_model.RealmModel
) -> np.ndarray:
  """Returns the embeddings of all blocks."""
  embed = embedding.compile_blocks(embedder, SPECIAL_IDS)
  ids = np.arange(table.num_blocks)
  return embedding.embed_blocks(embed, table, ids, CONFIG.lengths)


def complete(
  root: str,
  step: int,
  embeddings: np.ndarray,
  *,
  config: config_lib.IndexConfig = CONFIG.index,
  hashes: np.ndarray | None = None,
  name: str = 'x',
) -> tuple[versions.Version, searchers.Built]:
  """Completes an index version of up to three shards, as one worker does."""
  version = versions.Version(step, versions.version_path(root, step))
  embedder = indexed_model()
  plan = storage.make_plan(CONFIG, embedder, FINGERPRINT, len(embeddings))
  storage.begin(version.path, plan, embedder)
  shards_of = [
    embedding_shards.write(
      version.path, f'embeddings-{i}-{name}.npy', rows, plan.storage_dtype
    )
    for i, rows in enumerate(np.split(embeddings, [16, 32]))
    if len(rows) or not i
  ]
  if hashes is None:
    hashes = np.arange(len(embeddings), dtype=np.uint64) * 3
  built = searchers.build(embeddings, config, embeddings[:1])
  version = storage.complete(version, plan, shards_of, name, hashes, built)
  return version, built
