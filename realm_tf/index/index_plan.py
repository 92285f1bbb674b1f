"""Begins an index version with two files, from which any worker can build it.

<version>/params.safetensors  the embedders of queries and blocks
<version>/plan.json           `Plan`, written second

Workers need no other parameters, so the trainer may remove its own.
"""

import hashlib
import json
import os
from typing import NamedTuple, Optional
import uuid

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import json_files
from realm_tf.rundir import json_shapes
from realm_tf.rundir import layout
from realm_tf.rundir import versions


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


FIELDS = {
  **json_shapes.fields_of(Plan),
  'block_tokens': json_shapes.count(1),
  'storage_dtype': json_shapes.one_of('float32', 'float16', 'bfloat16'),
  'shard_blocks': json_shapes.count(1),
}
_PLAN = json_shapes.object_of(FIELDS)


def make(
  config: config_lib.ExperimentConfig,
  model: realm_model.RealmModel,
  corpus_fingerprint: str,
  num_blocks: int,
) -> Plan:
  """Returns the plan for a corpus and the model's current variables."""
  return Plan(
    corpus_fingerprint=corpus_fingerprint,
    num_blocks=num_blocks,
    params_fingerprint=weights.fingerprint(embedder_variables(model)),
    embedder_fingerprint=embedder_fingerprint(model),
    block_tokens=config.lengths.block_tokens,
    title_tokens=config.lengths.title_tokens,
    embed_dtype=config.index.embed_dtype,
    storage_dtype=config.index.storage_dtype,
    shard_blocks=config.index.shard_blocks,
  )


def start(path: str, plan: Plan, model: realm_model.RealmModel) -> None:
  """Begins the version at `path`, unless it has begun."""
  if read(path) == plan:
    return
  tf.io.gfile.makedirs(path)
  # Other processes may begin or read the same version at the same time.
  params_file = layout.params_file(path)
  staging = f'{params_file}.{uuid.uuid4().hex}'
  weights.write(embedder_variables(model), staging)
  tf.io.gfile.rename(staging, params_file, overwrite=True)
  json_files.write(_plan_file(path), plan._asdict())


def read(path: str) -> Optional[Plan]:
  """Returns the plan of the version at `path`, or None."""
  fields = json_files.read(_plan_file(path))
  if not _PLAN.holds(fields) or fields.keys() != FIELDS.keys():
    return None  # No file, or another form.
  return Plan(**fields)


def find_unfinished(
  root: str, corpus_fingerprint: str
) -> Optional[versions.Version]:
  """Returns the newest begun version that is newer than all complete ones."""
  for step in reversed(versions.steps(root)):
    path = versions.version_path(root, step)
    if versions.is_complete(path):
      return None
    plan = read(path)
    if plan is not None and plan.corpus_fingerprint == corpus_fingerprint:
      return versions.Version(step, path)
  return None


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
    model.block_embedder.variables, realm_model.EMBEDDER_PREFIXES
  )
  prompt = model.config.embedder.block_prompt
  if not prompt:
    return fingerprint
  return hashlib.sha256(f'{fingerprint} {prompt}'.encode()).hexdigest()


def _plan_file(path: str) -> str:
  return os.path.join(path, 'plan.json')
