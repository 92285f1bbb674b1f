"""Embeds a corpus with a model's parameters and writes an index version.

Blocks with the same hash of title and body have the same embedding in any
corpus, as long as the embedder's parameters are the same. Only new blocks are
embedded; others come from an older index version.
"""

from collections.abc import Callable, Sequence
import functools
import os
import time

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.data import block_table
from realm_tf.data import whole_blocks
from realm_tf.index import embedding
from realm_tf.index import embedding_shards
from realm_tf.index import model_files
from realm_tf.index import searchers
from realm_tf.index import storage
from realm_tf.index import version_work
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.run import versions

# Fields of a plan that determine the embedding of a block.
_SAME = (
  'embedder_fingerprint',
  'block_tokens',
  'title_tokens',
  'embed_dtype',
  'storage_dtype',
)


def reusing(
  path: str,
  plan: storage.Plan,
  hashes: np.ndarray,
  embed_new: version_work.EmbedRows,
) -> version_work.EmbedRows:
  """Returns a function that embeds only blocks that an older version lacks.

  Args:
    path: The older version; UserError if damaged, or embedded differently.
    hashes: Hashes of the new version's blocks, uint64 [N].
    embed_new: Embeds the others.
  """
  manifest = storage.read_manifest(path)
  for name in _SAME:
    expected, found = str(getattr(plan, name)), str(manifest[name])
    if found != expected:
      raise errors.UserError(
        'A reused index must have been embedded in the same way. Found '
        f'{name} {found[:12]} in {path}, and {expected[:12]} here. Build the '
        'index without it.'
      )
  versions.verify(path)
  embeddings = storage.read_embeddings(path, manifest)
  known = np.asarray(storage.read_hashes(path, manifest))
  # Each block's row in the older version, or -1, int64 [N].
  rows_of = block_table.find_hashes(np.asarray(hashes), known)

  def embed(
    block_ids: np.ndarray, progress: Callable[[int], None]
  ) -> np.ndarray:
    rows = rows_of[block_ids]
    is_known = rows >= 0
    old = embeddings[rows[is_known]]
    progress(len(old))
    result = np.empty([len(block_ids), old.shape[1]], np.float32)
    result[is_known] = old
    if not is_known.all():
      result[~is_known] = embed_new(block_ids[~is_known], progress)
    return result

  return embed


class IndexBuilder:
  """Builds index versions of one corpus, each with newer parameters.

  Args:
    config: Config with `vocab_size` set.
    special_ids: [CLS] and [SEP].
    model: Model with the EMBEDDER part, made in the strategy's scope; by
      default a new one.
    strategy: Splits each batch over its replicas, all on this machine; by
      default one device.
  """

  def __init__(
    self,
    table: block_table.BlockTable,
    config: config_lib.ExperimentConfig,
    special_ids: tuple[int, int],
    mask_id: int,
    model: realm_model.RealmModel | None = None,
    strategy: tf.distribute.Strategy | None = None,
  ):
    config = precision.resolve(config)
    self._table = table
    self.config = config
    self._special_ids, self._mask_id = special_ids, mask_id
    if model is None:
      with (strategy or tf.distribute.get_strategy()).scope():
        model = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
    self._model = model
    self._open_embed = embedding.opener(
      model, special_ids, config.index, strategy
    )

  @property
  def corpus_fingerprint(self) -> str:
    return self._table.manifest['corpus_fingerprint']

  def publish(
    self,
    params: versions.Version,
    index_root: str,
    job: version_work.Job = version_work.ALONE,
    *,
    base: str | None = None,
    fits: bool = True,
  ) -> versions.Version | None:
    """Loads `params` and calls `build`.

    An unfinished index version can be `params`, since it holds the embedders.

    Raises:
      UserError: As `build`; or `params` are damaged or lack an embedder.
    """
    self._load(params)
    return self.build(params.step, index_root, job, base=base, fits=fits)

  def build(
    self,
    step: int,
    index_root: str,
    job: version_work.Job = version_work.ALONE,
    *,
    base: str | None = None,
    fits: bool = True,
    embeddings: np.ndarray | None = None,
  ) -> versions.Version | None:
    """Builds the index version of a step with the model's current variables.

    Args:
      job: This worker's part of the work.
      base: Index version whose embeddings are reused for equal blocks; by
        default the newest one that fits.
      fits: Whether a `base` that was embedded differently is an error.
      embeddings: Embeddings made elsewhere, float32 [N, D]; must take slices.

    Returns:
      The complete version, or None if it was overtaken.

    Raises:
      UserError: The step has another complete index, or `base` does not fit.
    """
    begun = time.monotonic()
    version, plan = self._begin(step, index_root)
    if versions.is_complete(version.path):
      return version
    embed_rows = self._embedding(index_root, plan, base, fits, embeddings)
    work = version_work.VersionWork(version, plan, job)
    if not work.run(
      embed_rows, functools.partial(self._complete, version, plan)
    ):
      logging.info('Left %s: a newer index is there.', version.path)
      return None
    logging.info(
      'Index %s is complete: %d blocks, %.1f s.',
      version.path,
      plan.num_blocks,
      time.monotonic() - begun,
    )
    return version

  def begin(
    self, params: versions.Version, index_root: str
  ) -> tuple[versions.Version, int] | None:
    """Returns a begun version and its number of shards; None if complete."""
    self._load(params)
    version, plan = self._begin(params.step, index_root)
    return (
      None if versions.is_complete(version.path) else (version, plan.num_shards)
    )

  def shard_maker(
    self, version: versions.Version, base: str | None = None
  ) -> Callable[[int], None]:
    """Returns a function that makes a shard of a begun version.

    The parameters are loaded from the version. A shard that is done is skipped.

    Raises:
      UserError: This machine's plan differs from the version's.
    """
    model_files.load_version(self._model, version.path)
    plan = self._plan()
    if storage.read_plan(version.path) != plan:
      raise errors.UserError(
        f'All workers must embed by the plan of {version.path}. Found {plan} '
        'on this one. Give every worker the same files, and --set what differs.'
      )
    root = os.path.dirname(version.path)
    embed_rows = self._embedding(root, plan, base)
    work = version_work.VersionWork(version, plan)
    return functools.partial(work.make_shard, embed_rows=embed_rows)

  def _load(self, params: versions.Version) -> None:
    if storage.read_plan(params.path) is None:
      versions.verify(params.path)
    model_files.load_version(self._model, params.path)

  def _plan(self) -> storage.Plan:
    return storage.make_plan(
      self.config, self._model, self.corpus_fingerprint, self._table.num_blocks
    )

  def _begin(
    self, step: int, index_root: str
  ) -> tuple[versions.Version, storage.Plan]:
    plan = self._plan()
    version = versions.Version(step, versions.version_path(index_root, step))
    if not versions.is_complete(version.path):
      storage.begin(version.path, plan, self._model)
      return version, plan
    manifest = storage.read_manifest(version.path)
    for name in ('corpus_fingerprint', 'params_fingerprint'):
      if manifest[name] != getattr(plan, name):
        raise errors.UserError(
          'A complete index version is never changed. Found '
          f'{version.path}, with another {name}. Give another directory, or '
          'remove the version.'
        )
    return version, plan

  def _embedding(
    self,
    index_root: str,
    plan: storage.Plan,
    base: str | None,
    fits: bool = True,
    embeddings: np.ndarray | None = None,
  ) -> version_work.EmbedRows:
    """Returns a function that embeds blocks or takes their embeddings."""
    if embeddings is not None:

      def take(ids: np.ndarray, progress: Callable[[int], None]) -> np.ndarray:
        progress(len(ids))
        rows = embeddings[int(ids[0]) : int(ids[-1]) + 1]
        return np.asarray(rows, np.float32)

      return take
    # Opened once per version: the embedder may copy the parameters.
    open_embed = functools.cache(self._open_embed)

    def embed(
      block_ids: np.ndarray, progress: Callable[[int], None]
    ) -> np.ndarray:
      return embedding.embed_blocks(
        open_embed(),
        self._table,
        block_ids,
        self.config.lengths,
        progress=progress,
      )

    newest = versions.newest(index_root)
    for path in filter(None, [base, newest and newest.path]):
      try:
        return reusing(path, plan, self._table.hashes, embed)
      except errors.UserError as error:
        if fits and path == base:
          raise
        logging.info('Embeddings of %s are not reused: %s', path, error)
    return embed

  def _complete(
    self,
    version: versions.Version,
    plan: storage.Plan,
    shards: Sequence[embedding_shards.Shard],
    worker_name: str,
  ) -> None:
    config = self.config.index
    embeddings = embedding_shards.Embeddings(
      version.path, shards, plan.storage_dtype
    )
    queries = None
    if searchers.kind(config, plan.num_blocks) not in searchers.EXACT_KINDS:
      lengths = self.config.lengths
      embed = embedding.compile_queries(
        self._model, lengths.query_tokens, self._special_ids
      )
      queries = searchers.sample_queries(
        self._table, embed, lengths, self._mask_id
      )
    ks = self.config.searched_ks(plan.num_blocks)
    storage.complete(
      version,
      plan,
      shards,
      worker_name,
      self._table.hashes,
      searchers.build(embeddings, config, queries, ks),
    )


def open_builder(
  model_dir: str,
  corpus_dir: str,
  overrides: Sequence[str] = (),
  strategy: tf.distribute.Strategy | None = None,
) -> IndexBuilder:
  """Returns a builder; UserError if model, corpus and overrides do not fit."""
  opened = model_files.open_model(model_dir)
  config = config_files.override(opened.config, overrides)
  # Checksums are compared because an index would keep a fault forever.
  table = block_table.BlockTable.open(corpus_dir, verify=True)
  whole_blocks.check(table, config.lengths)
  tokenizer = opened.tokenizer
  model_files.check_vocabulary(model_dir, tokenizer, table)
  return IndexBuilder(
    table, config, tokenizer.special_ids, tokenizer.mask_id, strategy=strategy
  )
