"""REALM pre-training as a job, beside a refresher on the same run directory.

queries, corpus, index versions -> [this file] -> parameter versions
"""

import concurrent.futures
import functools
import time
from typing import NamedTuple, Optional

import numpy as np

from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.records import query_table
from realm_tf.retrieval import hot_swap
from realm_tf.retrieval import retriever
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import candidate_report
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import params_export
from realm_tf.training import prefetch
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer
from realm_tf.training import runs

_POLL_SECS = 1.0
_KEPT_VERSIONS = 3


class _LoadedIndex(NamedTuple):
  index: storage.Index
  params: dict[str, np.ndarray]


class IndexSearch:
  """Searches the newest index with that index's own parameters.

  Args:
    inputs: Of the job.
    index_root: Where the refresher publishes.
  """

  def __init__(self, inputs: runs.Inputs, index_root: str):
    self._model = realm_model.RealmModel(
      inputs.config.model, [realm_model.EMBEDDER]
    )
    self._embed = retriever.query_embedding_function(
      self._model, inputs.config.lengths, inputs.special_ids
    )
    fingerprint = inputs.table.manifest['corpus_fingerprint']

    def load(version):
      return _LoadedIndex(
        storage.load(version.path, fingerprint, inputs.config.index),
        weights.read(layout.params_file(version.path)),
      )

    self._executor = concurrent.futures.ThreadPoolExecutor(1)
    self._swap = hot_swap.HotSwap(
      functools.partial(versions.newest, index_root),
      load,
      self._executor.submit,
    )

  @property
  def step(self) -> int:
    """Training step of the index in use."""
    return self._swap.step

  def __call__(self, query_ids: np.ndarray, k: int) -> np.ndarray:
    """Returns the ids of the best `k` blocks of each query, int32 [B, k]."""
    if self._swap.current is None:
      self._swap.wait_for_first(lambda: time.sleep(_POLL_SECS))
      self._model.load(self._swap.current.params)
    elif self._swap.poll():
      self._model.load(self._swap.current.params)
    found = retriever.Retriever(
      self._embed, self._swap.current.index.searcher
    ).retrieve(query_ids, k)
    return found.block_ids


def run(
  inputs: runs.Inputs,
  queries_dir: str,
  run_dir: str,
  init_from: Optional[str] = None,
  resume: bool = False,
  fixed_search: Optional[pretraining_batches.Search] = None,
) -> None:
  """Pre-trains and publishes parameters every `refresh_every_steps`.

  Args:
    inputs: Of the job.
    queries_dir: X.
    run_dir: Shared with the refresher.
    init_from: Model directory to start from.
    resume: Whether to go on from the last checkpoint.
    fixed_search: Replaces the refresher's indexes, e.g. by BM25.
  """
  queries = query_table.QueryTable.open(queries_dir)
  queries.fit_corpus(inputs.table)
  runs.start(run_dir, inputs, resume)
  config = inputs.config.pretraining
  model = realm_model.RealmModel(
    inputs.config.model, [realm_model.MASKED_LM, realm_model.EMBEDDER]
  )
  runs.initialize(model, inputs, init_from)
  optimizer = optimizer_lib.create(config.optimizer)
  search = fixed_search or IndexSearch(inputs, layout.index_root(run_dir))
  trainer = pretraining_trainer.PretrainingTrainer(
    None,
    optimizer,
    model,
    inputs.config,
    inputs.special_ids,
    None if fixed_search else lambda: search.step,
  )
  manager = runs.checkpoint_manager(
    trainer, model, run_dir, config.checkpoint_every_steps
  )
  if resume:
    manager.restore_or_initialize()
  trainer.train_dataset = _batches(
    inputs, queries, search, first_step=int(trainer.global_step.numpy())
  )
  _train(inputs, trainer, run_dir, manager)
  runs.finish(run_dir)


def _batches(inputs, queries, search, first_step):
  words = pretraining_batches.Words(
    inputs.tokenizer.mask_id, inputs.ordinary_ids
  )
  return prefetch.prefetch(
    pretraining_batches.batches(
      queries, inputs.table, search, words, inputs.config, first_step
    )
  )


def _train(inputs, trainer, run_dir, manager):
  """Trains from one parameter version to the next."""
  config = inputs.config.pretraining
  num_steps = config.optimizer.num_steps
  controller = runs.controller(
    trainer, run_dir, num_steps, config.log_every_steps, manager
  )
  step = int(trainer.global_step.numpy())
  params_export.publish(run_dir, step, trainer.model)
  while step < num_steps:
    until = min(
      num_steps,
      (step // config.refresh_every_steps + 1) * config.refresh_every_steps,
    )
    controller.train(until, checkpoint_at_completion=until == num_steps)
    step = until
    params_export.publish(run_dir, step, trainer.model)
    versions.prune(layout.params_root(run_dir), _KEPT_VERSIONS)
    candidate_report.write(trainer, inputs.table, inputs.tokenizer, run_dir)
