"""Embeds a corpus with a model's parameters and writes an index version."""

from collections.abc import Callable, Sequence
import functools
import os
import time
from typing import Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.index import block_embeddings
from realm_tf.index import embed_backend
from realm_tf.index import embedding_shards
from realm_tf.index import held_out_queries
from realm_tf.index import index_plan
from realm_tf.index import model_files
from realm_tf.index import query_embeddings
from realm_tf.index import reuse
from realm_tf.index import searchers
from realm_tf.index import storage
from realm_tf.index import version_work
from realm_tf.modeling import precision
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.records import whole_blocks
from realm_tf.rundir import versions


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
    model: Optional[realm_model.RealmModel] = None,
    strategy: Optional[tf.distribute.Strategy] = None,
  ):
    config = precision.resolve(config)
    self._table = table
    self.config = config
    self._special_ids, self._mask_id = special_ids, mask_id
    if model is None:
      with (strategy or tf.distribute.get_strategy()).scope():
        model = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
    self._model = model
    self._open_embed = embed_backend.opener(
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
    base: Optional[str] = None,
    fits: bool = True,
  ) -> Optional[versions.Version]:
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
    base: Optional[str] = None,
    fits: bool = True,
    embeddings: Optional[np.ndarray] = None,
  ) -> Optional[versions.Version]:
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
    if embeddings is None:
      embed_rows = self._embedding(index_root, plan, base, fits)
    else:
      embed_rows = functools.partial(_take_rows, embeddings)
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
  ) -> Optional[tuple[versions.Version, int]]:
    """Returns a begun version and its number of shards; None if complete."""
    self._load(params)
    version, plan = self._begin(params.step, index_root)
    return (
      None if versions.is_complete(version.path) else (version, plan.num_shards)
    )

  def shard_maker(
    self, version: versions.Version, base: Optional[str] = None
  ) -> Callable[[int], None]:
    """Returns a function that makes a shard of a begun version.

    The parameters are loaded from the version. A shard that is done is skipped.

    Raises:
      UserError: This machine's plan differs from the version's.
    """
    model_files.load_version(self._model, version.path)
    plan = self._plan()
    if index_plan.read(version.path) != plan:
      raise errors.UserError(
        f'All workers must embed by the plan of {version.path}. Found {plan} '
        'on this one. Give every worker the same files, and --set what differs.'
      )
    root = os.path.dirname(version.path)
    embed_rows = self._embedding(root, plan, base, fits=True)
    work = version_work.VersionWork(version, plan)
    return functools.partial(work.make_shard, embed_rows=embed_rows)

  def _load(self, params: versions.Version) -> None:
    if index_plan.read(params.path) is None:
      versions.verify(params.path)
    model_files.load_version(self._model, params.path)

  def _plan(self) -> index_plan.Plan:
    return index_plan.make(
      self.config, self._model, self.corpus_fingerprint, self._table.num_blocks
    )

  def _begin(
    self, step: int, index_root: str
  ) -> tuple[versions.Version, index_plan.Plan]:
    plan = self._plan()
    version = versions.Version(step, versions.version_path(index_root, step))
    if versions.is_complete(version.path):
      storage.check_same(version.path, plan)
    else:
      index_plan.start(version.path, plan, self._model)
    return version, plan

  def _embedding(
    self,
    index_root: str,
    plan: index_plan.Plan,
    base: Optional[str],
    fits: bool,
  ) -> version_work.EmbedRows:
    """Returns a function that embeds blocks or reuses their embeddings."""
    if base is not None and fits:
      known: Optional[reuse.Base] = reuse.Base(base, plan)
    else:
      newest = versions.newest(index_root)
      known = reuse.first_fit([base, newest and newest.path], plan)
    # Opened once per version: the embedder may copy the parameters.
    open_embed = functools.cache(self._open_embed)

    def embed(
      block_ids: np.ndarray, progress: Callable[[int], None]
    ) -> np.ndarray:
      return block_embeddings.embed_blocks(
        open_embed(),
        self._table,
        block_ids,
        self.config.lengths,
        progress=progress,
      )

    if known is None:
      return embed
    return functools.partial(known.embed, self._table.hashes, embed)

  def _complete(
    self,
    version: versions.Version,
    plan: index_plan.Plan,
    shards: Sequence[embedding_shards.Shard],
    worker_name: str,
  ) -> None:
    config = self.config.index
    embeddings = embedding_shards.Embeddings(
      version.path, shards, plan.storage_dtype
    )
    queries = None
    if not searchers.is_exact(searchers.kind(config, plan.num_blocks)):
      lengths = self.config.lengths
      embed = query_embeddings.compile_embedding(
        self._model, lengths.query_tokens, self._special_ids
      )
      queries = held_out_queries.sample(
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


def _take_rows(
  embeddings: np.ndarray, block_ids: np.ndarray, progress: Callable[[int], None]
) -> np.ndarray:
  rows = embeddings[int(block_ids[0]) : int(block_ids[-1]) + 1]
  progress(len(rows))
  return np.asarray(rows, np.float32)


def open_builder(
  model_dir: str,
  corpus_dir: str,
  overrides: Sequence[str] = (),
  strategy: Optional[tf.distribute.Strategy] = None,
) -> IndexBuilder:
  """Returns a builder; UserError if model, corpus and overrides do not fit."""
  opened = model_files.open_model(model_dir)
  config = config_files.override(opened.config, overrides)
  # Checksums are compared because an index would keep a fault forever.
  table = block_table.BlockTable.open(corpus_dir, verify=True)
  whole_blocks.check(table, config.lengths)
  tokenizer = opened.tokenizer
  model_files.check_vocabulary(model_dir, tokenizer, table)
  opened.check_sizes()
  return IndexBuilder(
    table, config, tokenizer.special_ids, tokenizer.mask_id, strategy=strategy
  )
