"""An index version on disk: embeddings, searcher, and who they belong to.

<root>/000000500/manifest.json      written last: sizes, sha256, fingerprints
embeddings.npy     float32 [N, D], memory-mapped on reading
params.safetensors the embedders, to embed queries with
scann/             the searcher, if it is ScaNN
"""

import io
import os
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.index import brute_force
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions

_MIN_SCANN_BLOCKS = 16  # Its codebooks are trained on no fewer points.


class Index(NamedTuple):
  """A loaded index version.

  Attributes:
    step: Training step of its parameters.
    path: Its directory.
    embeddings: float32 [N, D], memory-mapped where the file system allows it.
    searcher: Over `embeddings`.
    manifest: See the module's docstring.
  """

  step: int
  path: str
  embeddings: np.ndarray
  searcher: searcher_lib.Searcher
  manifest: dict[str, Any]


def publish(
  root: str,
  step: int,
  embeddings: np.ndarray,
  model: realm_model.RealmModel,
  corpus_fingerprint: str,
  config: config_lib.IndexConfig,
) -> versions.Version:
  """Builds the searcher and publishes everything as version `step`.

  Args:
    root: Directory of all index versions.
    step: Training step of `model`'s parameters.
    embeddings: float32 [N, D].
    model: With the EMBEDDER part, which `embeddings` were computed with.
    corpus_fingerprint: Of the embedded corpus.
    config: Which searcher.

  Returns:
    The version.
  """
  kind = searcher_kind(config, len(embeddings))

  def write(path):
    with tf.io.gfile.GFile(_embeddings_file(path), 'wb') as file:
      np.save(file, embeddings)
    weights.write(embedder_variables(model), layout.params_file(path))
    if kind == 'scann':
      from realm_tf.index import scann_searcher  # Loads slowly; often unused.

      tf.io.gfile.makedirs(_scann_dir(path))
      scann_searcher.ScannSearcher.build(embeddings, config).save(
        _scann_dir(path)
      )

  return versions.publish(
    root,
    step,
    write,
    {
      'corpus_fingerprint': corpus_fingerprint,
      'embedder_fingerprint': _embedder_fingerprint(model),
      'num_blocks': len(embeddings),
      'embedding_size': int(embeddings.shape[1]),
      'searcher': kind,
    },
  )


def load(
  path: str, corpus_fingerprint: str, config: config_lib.IndexConfig
) -> Index:
  """Loads a version after checking all of it.

  Raises:
    UserError: A file is damaged, or the index is of another corpus.
  """
  manifest = versions.verify(path)
  if manifest['corpus_fingerprint'] != corpus_fingerprint:
    raise errors.UserError(
      f'An index must be of the corpus that is searched. Found {path}, of '
      f'corpus {manifest["corpus_fingerprint"][:12]}, and corpus '
      f'{corpus_fingerprint[:12]}. Build it again with bin.build_index.'
    )
  embeddings = _read_embeddings(_embeddings_file(path))
  if manifest['searcher'] == 'scann':
    from realm_tf.index import scann_searcher  # Loads slowly; often unused.

    searcher = scann_searcher.ScannSearcher.load(_scann_dir(path), config)
  else:
    searcher = brute_force.BruteForceSearcher(embeddings)
  logging.info(
    'Loaded index %s: %d blocks, %s.',
    path,
    manifest['num_blocks'],
    manifest['searcher'],
  )
  return Index(manifest['step'], path, embeddings, searcher, manifest)


def find_embeddings(
  root: str, model: realm_model.RealmModel, corpus_fingerprint: str
) -> Optional[np.ndarray]:
  """Returns the newest version's embeddings if `model` would make the same.

  So they are while only the reader learns, or with a frozen block embedder.

  Args:
    root: Directory of all index versions, of one config.
    model: With the EMBEDDER part.
    corpus_fingerprint: Of the corpus to embed.

  Returns:
    float32 [N, D], memory-mapped where that works; or None.
  """
  newest = versions.newest(root)
  if newest is None:
    return None
  manifest = versions.read_manifest(newest.path)
  is_same = manifest['corpus_fingerprint'] == corpus_fingerprint and manifest[
    'embedder_fingerprint'
  ] == _embedder_fingerprint(model)
  if not is_same:
    return None
  versions.verify(newest.path)
  return _read_embeddings(_embeddings_file(newest.path))


def embedder_variables(model: realm_model.RealmModel) -> list[tf.Variable]:
  """Returns both towers' variables, each once."""
  towers = {
    id(tower): tower for tower in (model.query_embedder, model.block_embedder)
  }
  return [variable for tower in towers.values() for variable in tower.variables]


def searcher_kind(config: config_lib.IndexConfig, num_blocks: int) -> str:
  """Returns 'scann' or 'brute_force'; ScaNN cannot train on few blocks."""
  if num_blocks < _MIN_SCANN_BLOCKS:
    return 'brute_force'
  if config.searcher == 'auto':
    return 'brute_force' if num_blocks < config.exact_below_blocks else 'scann'
  return config.searcher


def _embedder_fingerprint(model):
  return weights.fingerprint(model.block_embedder.variables)


def _read_embeddings(file_name):
  if '://' not in file_name:
    return np.load(file_name, mmap_mode='r')
  with tf.io.gfile.GFile(file_name, 'rb') as file:
    return np.load(io.BytesIO(file.read()))


def _embeddings_file(path):
  return os.path.join(path, 'embeddings.npy')


def _scann_dir(path):
  return os.path.join(path, 'scann')
