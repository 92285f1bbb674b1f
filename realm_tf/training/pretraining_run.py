"""REALM pre-training as a job, beside a refresher on the same run directory.

queries, corpus, index versions -> [this file] -> parameter versions
"""

import functools
from typing import Optional

import tensorflow as tf

from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import candidate_report
from realm_tf.training import index_age
from realm_tf.training import index_search
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import params_export
from realm_tf.training import prefetch
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer
from realm_tf.training import runs

_KEPT_VERSIONS = 3


def run(
  inputs: runs.Inputs,
  queries_dir: str,
  run_dir: str,
  init_from: Optional[str] = None,
  resume: bool = False,
  fixed_search: Optional[pretraining_batches.Search] = None,
) -> None:
  """Pre-trains and publishes parameters for the refresher.

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
  search = fixed_search or index_search.IndexSearch(inputs, run_dir, model)
  age = index_age.IndexAge(
    functools.partial(index_age.secs_since_written, run_dir)
  )
  trainer = _trainer(inputs, model, search, age)
  manager = runs.checkpoint_manager(
    trainer, model, run_dir, config.checkpoint_every_steps
  )
  if resume:
    manager.restore_or_initialize()
  trainer.train_dataset = _batches(
    inputs, queries, search, first_step=int(trainer.global_step.numpy())
  )
  train(inputs, trainer, run_dir, manager, age)
  runs.finish(run_dir)


def _trainer(inputs, model, search, age):
  """Returns the trainer, which has no batches yet."""
  return pretraining_trainer.PretrainingTrainer(
    None,
    optimizer_lib.create(inputs.config.pretraining.optimizer),
    model,
    inputs.config,
    inputs.special_ids,
    pretraining_trainer.IndexSide(age, getattr(search, 'overlay', None)),
  )


def _batches(inputs, queries, search, first_step):
  words = pretraining_batches.Words(
    inputs.tokenizer.mask_id, inputs.ordinary_ids
  )
  batches = pretraining_batches.batches(
    queries, inputs.table, search, words, inputs.config, first_step
  )
  if isinstance(search, index_search.IndexSearch):
    batches = pretraining_batches.with_index_step(batches, search)
  return prefetch.prefetch(batches)


def train(
  inputs: runs.Inputs,
  trainer: pretraining_trainer.PretrainingTrainer,
  run_dir: str,
  manager: tf.train.CheckpointManager,
  age: index_age.IndexAge,
) -> None:
  """Trains from one parameter version to the next, and publishes each.

  They are `refresh_every_steps` * `stale_factor` steps apart; the last step's
  is always published.
  """
  config = inputs.config.pretraining
  num_steps = config.optimizer.num_steps
  every = config.refresh_every_steps * config.stale_factor
  controller = runs.controller(
    trainer, run_dir, num_steps, config.log_every_steps, manager
  )
  step = int(trainer.global_step.numpy())

  def publish():
    params_export.publish(run_dir, step, trainer.model)
    age.published(step)

  # A resumed run has its versions, and another would make the index fresher.
  if versions.newest(layout.params_root(run_dir)) is None:
    publish()
  while step < num_steps:
    until = min(num_steps, (step // every + 1) * every)
    controller.train(until, checkpoint_at_completion=until == num_steps)
    step = until
    publish()
    versions.prune(layout.params_root(run_dir), _KEPT_VERSIONS)
    candidate_report.write(trainer, inputs.table, inputs.tokenizer, run_dir)
