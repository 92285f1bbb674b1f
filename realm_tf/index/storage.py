"""Writes and reads index versions: embeddings, searcher and manifest.

<root>/000000500/manifest.json      last: sizes, sha256, fingerprints, settings
plan.json, params.safetensors       first (index_plan)
embeddings-00003-WORKER.npy         a shard (embedding_shards)
assets-WORKER/hashes.npy            hashes of the blocks, uint64 [N] (reuse)
assets-WORKER/searcher/             files of the searcher, if any

Files bear their worker's name, so two workers never write the same file.
"""

from collections.abc import Sequence
import os
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import embedding_shards
from realm_tf.index import index_plan
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import searchers
from realm_tf.records import npy_files
from realm_tf.rundir import json_shapes
from realm_tf.rundir import layout
from realm_tf.rundir import listed_files
from realm_tf.rundir import manifests
from realm_tf.rundir import versions

KIND = manifests.Kind(
  'an index version',
  'bin.build_index',
  {
    'shards': json_shapes.list_of(
      json_shapes.row_of(json_shapes.TEXT, json_shapes.COUNT)
    ),
    **versions.KIND.fields,
    **index_plan.FIELDS,
    'embedding_size': json_shapes.COUNT,
    'assets': json_shapes.TEXT,
    'searcher': searchers.SHAPE,
  },
  [os.path.basename(layout.params_file(''))],
)
_ADVICE = f'Build it again with {KIND.made_by}.'


class Index(NamedTuple):
  """A loaded index version."""

  step: int  # Training step of its parameters.
  path: str
  embeddings: embedding_shards.Embeddings  # [N, D].
  searcher: searcher_lib.Searcher
  manifest: dict[str, Any]


def complete(
  version: versions.Version,
  plan: index_plan.Plan,
  shards: Sequence[embedding_shards.Shard],
  worker_name: str,
  hashes: np.ndarray,
  built: searchers.Built,
) -> versions.Version:
  """Writes the searcher's assets and the manifest, once all shards exist."""
  assets = f'assets-{worker_name}'
  directory = os.path.join(version.path, assets)
  tf.io.gfile.makedirs(directory)
  with tf.io.gfile.GFile(_hashes_file(directory), 'wb') as file:
    np.save(file, hashes, allow_pickle=False)
  searchers.save(built.searcher, _searcher_dir(directory))
  if versions.is_complete(version.path):
    searchers.release(built.settings, _searcher_dir(directory))
    listed_files.remove_tree(directory)
    return version
  version = versions.seal(
    version.path,
    version.step,
    _files(version.path, shards, directory),
    {
      **plan._asdict(),
      'embedding_size': embedding_shards.Embeddings(
        version.path, shards[:1], plan.storage_dtype
      ).shape[1],
      'shards': [[shard.file, shard.num_blocks] for shard in shards],
      'assets': assets,
      'searcher': built.settings,
    },
  )
  searchers.publish(
    built.settings, _searcher_dir(directory), os.path.dirname(version.path)
  )
  return version


def prune(root: str, keep: int, in_use: Sequence[int] = ()) -> None:
  """Removes old index versions, and their data on a server."""
  versions.prune(root, keep, in_use, _release)


def _release(path: str) -> None:
  """Tries to remove a version's data on a server; logs a failure."""
  try:
    manifest = read_manifest(path)
    searchers.release(
      manifest['searcher'],
      _searcher_dir(os.path.join(path, manifest['assets'])),
    )
  except (errors.UserError, OSError, tf.errors.OpError) as error:
    logging.warning('Data of %s may stay on its server: %s', path, error)


def load(
  path: str, corpus_fingerprint: str, own_process: bool = False
) -> Index:
  """Loads a version; UserError if damaged, or of another corpus."""
  manifest = read_manifest(path)
  if manifest['corpus_fingerprint'] != corpus_fingerprint:
    raise errors.UserError(
      f'An index must be of the corpus that is searched. Found {path}, of '
      f'corpus {manifest["corpus_fingerprint"][:12]}, and corpus '
      f'{corpus_fingerprint[:12]}. Build it again with bin.build_index.'
    )
  versions.verify(path)
  embeddings = read_embeddings(path, manifest)
  embeddings.check_finite()
  searcher = searchers.load(
    manifest['searcher'],
    _searcher_dir(os.path.join(path, manifest['assets'])),
    embeddings,
    own_process,
  )
  logging.info(
    'Loaded index %s: %d blocks, %s.',
    path,
    manifest['num_blocks'],
    manifest['searcher'],
  )
  return Index(manifest['step'], path, embeddings, searcher, manifest)


def read_manifest(path: str) -> dict[str, Any]:
  """Returns a version's manifest, or raises UserError; checks no other file."""
  manifest = versions.read_manifest(path, KIND)
  number = sum(num_blocks for _, num_blocks in manifest['shards'])
  if number != manifest['num_blocks']:
    raise errors.UserError(
      f"'shards' in the manifest of {path} must have {manifest['num_blocks']} "
      f"blocks, as 'num_blocks' says. Found {number}. {_ADVICE}"
    )
  names = [name for name, _ in manifest['shards']]
  names.append(_hashes_file(manifest['assets']))
  manifests.require_files(manifest, names, path, _ADVICE)
  return manifest


def read_embeddings(
  path: str, manifest: dict[str, Any]
) -> embedding_shards.Embeddings:
  """Opens a version's embeddings; UserError if manifest and files differ."""
  shards = []
  for name, num_blocks in manifest['shards']:
    entry = manifest['files'][name]
    shards.append(
      embedding_shards.Shard(name, num_blocks, entry['size'], entry['sha256'])
    )
  embeddings = embedding_shards.Embeddings(
    path, shards, manifest['storage_dtype']
  )
  if embeddings.shape[1] != manifest['embedding_size']:
    raise errors.UserError(
      f'Embeddings in {path} must have the width of its manifest, '
      f'{manifest["embedding_size"]}. Found {embeddings.shape[1]}. {_ADVICE}'
    )
  return embeddings


def read_hashes(path: str, manifest: dict[str, Any]) -> np.ndarray:
  """Returns the hashes of a complete version's blocks, uint64 [N]."""
  hashes_file = _hashes_file(os.path.join(path, manifest['assets']))
  return npy_files.open_array(hashes_file, np.uint64, [manifest['num_blocks']])


def _files(
  path: str, shards: Sequence[embedding_shards.Shard], directory: str
) -> dict[str, dict[str, Any]]:
  files = {
    shard.file: {'size': shard.size, 'sha256': shard.sha256} for shard in shards
  }
  names = [layout.params_file(path)]
  for folder, _, in_folder in tf.io.gfile.walk(directory):
    names += [os.path.join(folder, name) for name in in_folder]
  for name in names:
    files[os.path.relpath(name, path)] = manifests.describe(name)
  return files


def _hashes_file(assets: str) -> str:
  return os.path.join(assets, 'hashes.npy')


def _searcher_dir(assets: str) -> str:
  return os.path.join(assets, 'searcher')


def check_same(path: str, plan: index_plan.Plan) -> None:
  """Raises UserError unless the complete version has the plan's content."""
  manifest = read_manifest(path)
  for name in ('corpus_fingerprint', 'params_fingerprint'):
    if manifest[name] != getattr(plan, name):
      raise errors.UserError(
        f'A complete index version is never changed. Found {path}, with '
        f'another {name}. Give another directory, or remove the version.'
      )
