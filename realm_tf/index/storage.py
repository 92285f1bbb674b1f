"""Writes and reads index versions: plan, embeddings, searcher and manifest.

<root>/000000500/manifest.json      last: sizes, sha256, fingerprints, settings
params.safetensors                  first: the embedders of queries and blocks
plan.json                           second: `Plan`; any worker can then build
embeddings-00003-WORKER.npy         a shard (embedding_shards)
assets-WORKER/hashes.npy            hashes of the blocks, uint64 [N], for reuse
assets-WORKER/searcher/             files of the searcher, if any

Workers need no other parameters, so the trainer may remove its own. Files bear
their worker's name, so two workers never write the same file.
"""

from collections.abc import Sequence
import hashlib
import json
import os
from typing import Any, NamedTuple
import uuid

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.data import columns
from realm_tf.index import embedding_shards
from realm_tf.index import searchers
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import run_lock
from realm_tf.run import versions


class Plan(NamedTuple):
  """The content of an index version: corpus, parameters and settings.

  `config.LengthConfig` and `config.IndexConfig` describe the settings.
  """

  corpus_fingerprint: str
  num_blocks: int
  params_fingerprint: str  # Both embedders.
  embedder_fingerprint: str  # Only the block embedder.
  block_tokens: int
  title_tokens: int
  embed_dtype: str
  storage_dtype: str
  shard_blocks: int

  @property
  def name(self) -> str:
    """Short hash of all fields."""
    text = json.dumps(self._asdict(), sort_keys=True)
    return hashlib.sha256(text.encode('utf-8')).hexdigest()[:12]

  @property
  def num_shards(self) -> int:
    return -(-self.num_blocks // self.shard_blocks)

  def shard_rows(self, shard: int) -> range:
    start = shard * self.shard_blocks
    return range(start, min(start + self.shard_blocks, self.num_blocks))


_PLAN_FIELDS = {
  **json_text.fields_of(Plan),
  'block_tokens': json_text.POSITIVE,
  'storage_dtype': json_text.one_of('float32', 'float16', 'bfloat16'),
  'shard_blocks': json_text.POSITIVE,
}
KIND = manifests.Kind(
  'an index version',
  'bin.build_index',
  {
    'shards': list[tuple[str, json_text.COUNT]],
    **versions.KIND.fields,
    **_PLAN_FIELDS,
    'embedding_size': json_text.COUNT,
    'assets': str,
    'searcher': searchers.SHAPE,
  },
  [os.path.basename(layout.params_file(''))],
)
_ADVICE = f'Build it again with {KIND.made_by}.'


def make_plan(
  config: config_lib.ExperimentConfig,
  model: realm_model.RealmModel,
  corpus_fingerprint: str,
  num_blocks: int,
) -> Plan:
  """Returns the plan for a corpus and the model's current variables."""
  return Plan(
    corpus_fingerprint=corpus_fingerprint,
    num_blocks=num_blocks,
    params_fingerprint=weights.fingerprint(
      weights.values(embedder_variables(model))
    ),
    embedder_fingerprint=embedder_fingerprint(model),
    block_tokens=config.lengths.block_tokens,
    title_tokens=config.lengths.title_tokens,
    embed_dtype=config.index.embed_dtype,
    storage_dtype=config.index.storage_dtype,
    shard_blocks=config.index.shard_blocks,
  )


def begin(path: str, plan: Plan, model: realm_model.RealmModel) -> None:
  """Begins the version at `path`, unless it has begun."""
  plan_file = os.path.join(path, 'plan.json')
  fields = json_text.read(plan_file)
  if _plan_of(fields) == plan:
    return run_lock.tell_of_other_code(path, fields.get('code', ''))
  tf.io.gfile.makedirs(path)
  # Other processes may begin or read the same version at the same time.
  params_file = layout.params_file(path)
  staging = f'{params_file}.{uuid.uuid4().hex}'
  weights.write(weights.values(embedder_variables(model)), staging)
  tf.io.gfile.rename(staging, params_file, overwrite=True)
  json_text.write(plan_file, {**plan._asdict(), 'code': run_lock.code()})


def read_plan(path: str) -> Plan | None:
  """Returns the plan of the version at `path`, or None."""
  return _plan_of(json_text.read(os.path.join(path, 'plan.json')))


def _plan_of(fields: Any) -> Plan | None:
  if not json_text.holds(fields, json_text.object_of(_PLAN_FIELDS)):
    return None  # No file, or another form.
  return Plan(*(fields[name] for name in Plan._fields))


def embedder_variables(model: realm_model.RealmModel) -> list[tf.Variable]:
  """Returns the variables of f(x,z); a shared tower counts once."""
  prefixes = realm_model.EMBEDDER_PREFIXES
  return [v for v in model.variables if v.name.startswith(prefixes)]


def embedder_fingerprint(model: realm_model.RealmModel) -> str:
  """Returns the SHA-256 of the block embedder.

  A tower shared with queries and a separate tower of equal weights have the
  same fingerprint: both embed blocks equally.
  """
  fingerprint = weights.fingerprint(
    weights.values(model.block_embedder.variables),
    realm_model.EMBEDDER_PREFIXES,
  )
  prompt = model.config.embedder.block_prompt
  if not prompt:
    return fingerprint
  return hashlib.sha256(f'{fingerprint} {prompt}'.encode()).hexdigest()


class Index(NamedTuple):
  """A loaded index version."""

  step: int  # Training step of its parameters.
  path: str
  embeddings: embedding_shards.Embeddings  # [N, D].
  searcher: interfaces.Searcher
  manifest: dict[str, Any]


def complete(
  version: versions.Version,
  plan: Plan,
  shards: Sequence[embedding_shards.Shard],
  worker_name: str,
  hashes: np.ndarray,
  built: searchers.Built,
) -> versions.Version:
  """Writes the searcher's assets and the manifest, once all shards exist."""
  path, assets = version.path, f'assets-{worker_name}'
  directory, searcher_dir = _assets(path, assets)
  tf.io.gfile.makedirs(directory)
  with tf.io.gfile.GFile(os.path.join(path, _hashes(assets)), 'wb') as file:
    np.save(file, hashes, allow_pickle=False)
  searchers.save(built.searcher, searcher_dir)
  if versions.is_complete(path):
    searchers.release(built.settings, searcher_dir)
    manifests.remove_tree(directory)
    return version
  params_file = layout.params_file(path)
  files = {os.path.basename(params_file): manifests.describe(params_file)}
  for shard in shards:
    files[shard.file] = {'size': shard.size, 'sha256': shard.sha256}
  for name, found in manifests.describe_all(directory).items():
    files[f'{assets}/{name}'] = found
  version = versions.seal(
    path,
    version.step,
    files,
    {
      **plan._asdict(),
      'embedding_size': embedding_shards.Embeddings(
        path, shards[:1], plan.storage_dtype
      ).shape[1],
      'shards': [[shard.file, shard.num_blocks] for shard in shards],
      'assets': assets,
      'searcher': built.settings,
    },
  )
  searchers.publish(built.settings, searcher_dir, os.path.dirname(path))
  return version


def prune(root: str, keep: int, in_use: Sequence[int] = ()) -> None:
  """Removes old index versions, and their data on a server."""
  versions.prune(root, keep, in_use, _release)


def _release(path: str) -> None:
  """Tries to remove a version's data on a server; logs a failure."""
  try:
    manifest = read_manifest(path)
    searcher_dir = _assets(path, manifest['assets'])[1]
    searchers.release(manifest['searcher'], searcher_dir)
  except (errors.UserError, OSError, tf.errors.OpError) as error:
    logging.warning('Data of %s may stay on its server: %s', path, error)


def load(
  path: str, corpus_fingerprint: str, own_process: bool = False
) -> Index:
  """Loads a version; UserError if damaged, or of another corpus."""
  manifest, embeddings = open_version(path, corpus_fingerprint)
  searcher = searchers.load(
    manifest['searcher'],
    _assets(path, manifest['assets'])[1],
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


def open_version(
  path: str, corpus_fingerprint: str
) -> tuple[dict[str, Any], embedding_shards.Embeddings]:
  """Opens a version without its searcher; fails as `load` does."""
  manifest = read_manifest(path)
  if manifest['corpus_fingerprint'] != corpus_fingerprint:
    raise errors.UserError(
      f'An index must be of the corpus that is searched. Found {path}, of '
      f'corpus {manifest["corpus_fingerprint"][:12]}, and corpus '
      f'{corpus_fingerprint[:12]}. Build it again with bin.build_index.'
    )
  versions.verify(path)
  return manifest, read_embeddings(path, manifest)


def read_manifest(path: str) -> dict[str, Any]:
  """Returns a version's manifest, or raises UserError; checks no other file."""
  manifest = manifests.read(path, KIND)
  names = [name for name, _ in manifest['shards']]
  names.append(_hashes(manifest['assets']))
  manifests.require_files(manifest, names, path, _ADVICE)
  return manifest


def read_embeddings(
  path: str, manifest: dict[str, Any]
) -> embedding_shards.Embeddings:
  """Opens a version's embeddings; UserError if manifest and files differ."""
  return embedding_shards.Embeddings(
    path, manifest['shards'], manifest['storage_dtype']
  )


def read_hashes(path: str, manifest: dict[str, Any]) -> np.ndarray:
  """Returns the hashes of a complete version's blocks, uint64 [N]."""
  hashes_file = os.path.join(path, _hashes(manifest['assets']))
  return columns.open_array(hashes_file, np.uint64, [manifest['num_blocks']])


def _hashes(assets: str) -> str:
  return os.path.join(assets, 'hashes.npy')


def _assets(path: str, assets: str) -> tuple[str, str]:
  """Returns the directory of a version's assets, and the searcher's in it."""
  directory = os.path.join(path, assets)
  return directory, os.path.join(directory, 'searcher')
