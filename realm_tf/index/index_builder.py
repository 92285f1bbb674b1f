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
from realm_tf.index import tuning
from realm_tf.index import version_work
from realm_tf.modeling import precision
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.records import whole_blocks
from realm_tf.rundir import versions

_SETTABLE = ('index.', 'lengths.cut_blocks=')  # Of the model's config.


class IndexBuilder:
  """Embeds one corpus again and again, with ever newer parameters.

  Args:
    table: The corpus.
    config: Config with model, lengths and index; `vocab_size` is set.
    special_ids: The vocabulary's [CLS] and [SEP].
    mask_id: The vocabulary's [MASK].
    model: Model with the EMBEDDER part, made in the strategy's scope; by
      default a new one.
    strategy: Strategy whose replicas, all of this machine, share each batch;
      by default one device.
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
    self._config = config
    self._special_ids, self._mask_id = special_ids, mask_id
    if model is None:
      with (strategy or tf.distribute.get_strategy()).scope():
        model = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
    self._model = model
    self._open_embed = embed_backend.opener(
      model, special_ids, config.index, strategy
    )
    self._embed: Optional[block_embeddings.Embed] = None

  @property
  def config(self) -> config_lib.ExperimentConfig:
    return self._config

  @property
  def corpus_fingerprint(self) -> str:
    return self._table.manifest['corpus_fingerprint']

  def publish(
    self,
    params: versions.Version,
    index_root: str,
    job: version_work.Job = version_work.ALONE,
  ) -> Optional[versions.Version]:
    """Builds the index version of a parameter version; see `build`.

    Args:
      params: A parameter version, or an unfinished index version, which holds
        the embedders too.
      index_root: Directory of all index versions.
      job: This worker's part of the work.

    Raises:
      UserError: The parameters are damaged or lack an embedder.
    """
    if index_plan.read(params.path) is None:
      versions.verify(params.path)
    model_files.load_version(self._model, params.path)
    return self.build(params.step, index_root, job)

  def build(
    self,
    step: int,
    index_root: str,
    job: version_work.Job = version_work.ALONE,
    embeddings: Optional[np.ndarray] = None,
  ) -> Optional[versions.Version]:
    """Builds the version of `step` with the model's current parameters.

    Blocks that `job.base`, or else the newest version, holds with the same
    embedding are not embedded again.

    Args:
      step: Training step of the parameters.
      index_root: Directory of all index versions.
      job: This worker's part of the work.
      embeddings: Embeddings made elsewhere, float32 [N, D]; must take slices.

    Returns:
      The complete version; None if it was overtaken.

    Raises:
      UserError: Another index stands in its place, or `job.base` does not fit.
    """
    begun = time.monotonic()
    plan = self._plan()
    version = versions.Version(step, versions.version_path(index_root, step))
    if versions.is_complete(version.path):
      storage.check_same(version.path, plan)
      return version
    embed_rows = (
      self._embedding(job, index_root, plan)
      if embeddings is None
      else functools.partial(version_work.take_rows, embeddings)
    )
    index_plan.start(version.path, plan, self._model)

    def complete(shards, worker_name):
      self._complete(version, plan, shards, worker_name)

    if not version_work.run(version, plan, job, embed_rows, complete):
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
    """Begins the version of `params`, for `shard_maker`.

    Returns:
      The version and its number of shards; None if it is complete.

    Raises:
      UserError: The parameters are damaged or lack an embedder.
    """
    versions.verify(params.path)
    model_files.load_version(self._model, params.path)
    path = versions.version_path(index_root, params.step)
    if versions.is_complete(path):
      return None
    plan = self._plan()
    index_plan.start(path, plan, self._model)
    return versions.Version(params.step, path), plan.num_shards

  def shard_maker(
    self, version: versions.Version, base: Optional[str] = None
  ) -> Callable[[int], None]:
    """Returns what makes a shard of a begun version, unless it is done.

    Args:
      version: The begun version; its own parameters are used.
      base: As `Job.base`.

    Raises:
      UserError: This machine would embed otherwise than the version's plan.
    """
    model_files.load_version(self._model, version.path)
    plan = self._plan()
    if index_plan.read(version.path) != plan:
      raise errors.UserError(
        f'All workers must embed by the plan of {version.path}. Found {plan} '
        'on this one. Give every worker the same files, and --set what differs.'
      )
    embed_rows = self._embedding(
      version_work.Job(base=base), os.path.dirname(version.path), plan
    )
    return lambda shard: version_work.make_shard(
      version, plan, shard, embed_rows
    )

  def can_reuse(self, path: str) -> bool:
    """Returns whether `path` fits as `Job.base`; if not, logs why."""
    return reuse.if_fit(path, self._plan()) is not None

  def _plan(self):
    return index_plan.make(
      self._config, self._model, self.corpus_fingerprint, self._table.num_blocks
    )

  def _embedding(self, job, index_root, plan):
    """Returns what embeds blocks, or takes them over from another version."""
    self._embed = None  # It may hold a copy of older parameters.
    base = (
      reuse.Base(job.base, plan) if job.base else reuse.newest(index_root, plan)
    )
    return functools.partial(self._embed_rows, base)

  def _embed_rows(self, base, block_ids, progress):
    """Returns the embeddings of blocks, float32 [n, D]."""
    if base is None:
      return self._embed_anew(block_ids, progress)
    is_known, old = base.find(np.asarray(self._table.hashes[block_ids]))
    progress(len(old))
    new = self._embed_anew(block_ids[~is_known], progress)
    result = np.empty([len(block_ids), old.shape[1]], np.float32)
    result[is_known] = old
    if len(new):
      result[~is_known] = new
    return result

  def _embed_anew(self, block_ids, progress):
    self._embed = self._embed or self._open_embed()
    return block_embeddings.embed_blocks(
      self._embed,
      self._table,
      block_ids,
      self._config.lengths,
      block_embeddings.BATCH_SIZE,
      progress,
    )

  def _complete(self, version, plan, shards, worker_name):
    config = self._config.index
    embeddings = embedding_shards.Embeddings(
      version.path, shards, plan.storage_dtype
    )
    queries = None
    if not searchers.is_exact(searchers.kind(config, plan.num_blocks)):
      lengths = self._config.lengths
      queries = held_out_queries.sample(
        self._table,
        query_embeddings.compile_embedding(
          self._model, lengths.query_tokens, self._special_ids
        ),
        lengths,
        self._mask_id,
      )
    ks = tuning.asked_ks(self._config, plan.num_blocks)
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
  strategy: Optional[tf.distribute.Strategy] = None,
) -> IndexBuilder:
  """Returns a builder for the model of a directory and a corpus.

  Raises:
    UserError: One of them is missing, their vocabularies differ, blocks are
      longer than the model embeds, a file is not as it was written, or an
      override is of something else.
  """
  opened = model_files.open_model(model_dir)
  for override in overrides:
    if not override.startswith(_SETTABLE):
      raise errors.UserError(
        'Only fields of the index, and lengths.cut_blocks, can be set here: '
        f"the rest is the model's. Found --set={override}. Leave it out."
      )
  config = config_files.override(opened.config, overrides)
  # All of it is read for an index, which would keep a fault for good.
  table = block_table.BlockTable.open(corpus_dir, verify=True)
  whole_blocks.check(table, config.lengths)
  tokenizer = opened.tokenizer
  model_files.check_vocabulary(model_dir, tokenizer, table)
  opened.check_sizes()
  return IndexBuilder(
    table, config, tokenizer.special_ids, tokenizer.mask_id, strategy=strategy
  )
