"""REALM pre-training as a job, beside a refresher on the same run directory.

queries, corpus, index versions -> [this file] -> parameter versions
"""

import functools
from typing import Optional

from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.records import whole_blocks
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import candidate_report
from realm_tf.training import index_age
from realm_tf.training import index_search
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import prefetch
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib

_KEPT_VERSIONS = 3


def run(
  inputs: runs.Inputs,
  queries_dir: str,
  run_dir: str,
  init_from: initial_params.InitFrom = initial_params.NOTHING,
  fixed_search: Optional[pretraining_batches.Search] = None,
  setup: setup_lib.Setup = setup_lib.ALONE,
) -> None:
  """Pre-trains and publishes parameters for the refresher.

  Args:
    inputs: Of the job.
    queries_dir: X.
    run_dir: Shared with the refresher.
    init_from: What to start from.
    fixed_search: Replaces the refresher's indexes, e.g. by BM25.
    setup: Of this process.
  """
  queries = query_table.QueryTable.open(queries_dir)
  queries.fit_corpus(inputs.table)
  whole_blocks.check(
    inputs.table,
    inputs.config.lengths,
    whole_blocks.of_pretraining(inputs.config),
  )
  config = inputs.config.pretraining
  share = setup.share(config.batch_size)
  runs.start(run_dir, inputs, setup)
  with setup.scope():
    model = realm_model.RealmModel(
      inputs.config.model, [realm_model.MASKED_LM, realm_model.EMBEDDER]
    )
    initial_params.load(model, inputs, init_from)
  search = fixed_search or index_search.IndexSearch(
    inputs, run_dir, model, process=share.number
  )
  age = index_age.IndexAge(
    functools.partial(index_age.secs_since_written, run_dir)
  )
  with setup.scope():
    trainer = _trainer(inputs, model, search, age)
  run_loop = loop.Loop(trainer, run_dir, setup_lib.Pace.of(config), setup)
  trainer.train_dataset = _batches(
    inputs, queries, search, share._replace(first_step=run_loop.step)
  )
  train(inputs, trainer, run_dir, run_loop, age)


def _trainer(inputs, model, search, age):
  """Returns the trainer, which has no batches yet."""
  config = inputs.config.pretraining
  trainer = pretraining_trainer.PretrainingTrainer(
    None,
    optimizer_lib.create(config.optimizer, config.reader_only_steps),
    model,
    inputs.config,
    inputs.special_ids,
    pretraining_trainer.IndexSide(age, getattr(search, 'overlay', None)),
  )
  trainer.seed_dropout(inputs.config.seed)
  return trainer


def _batches(inputs, queries, search, share):
  words = pretraining_batches.Words(
    inputs.tokenizer.mask_id, inputs.ordinary_ids
  )
  batches = pretraining_batches.batches(
    queries, inputs.table, search, words, inputs.config, share
  )
  if isinstance(search, index_search.IndexSearch):
    search.start_at(share.first_step)
    batches = pretraining_batches.with_index_step(batches, search)
  return prefetch.prefetch(batches)


def train(
  inputs: runs.Inputs,
  trainer: pretraining_trainer.PretrainingTrainer,
  run_dir: str,
  run_loop: loop.Loop,
  age: index_age.IndexAge,
) -> None:
  """Trains from one parameter version to the next, and publishes each.

  They are `refresh_every_steps` * `stale_factor` steps apart; the last step's
  is always published.
  """
  config = inputs.config.pretraining
  num_steps = config.optimizer.num_steps
  every = config.refresh_every_steps * config.stale_factor

  def publish():
    if run_loop.publish() is not None:
      age.published(run_loop.step)

  # A resumed run has its versions, and another would make the index fresher.
  if versions.newest(layout.params_root(run_dir)) is None:
    publish()
  while run_loop.step < num_steps:
    run_loop.train(min(num_steps, (run_loop.step // every + 1) * every))
    publish()
    versions.prune(layout.params_root(run_dir), _KEPT_VERSIONS)
    candidate_report.write(trainer, inputs.table, inputs.tokenizer, run_dir)
  run_loop.finish()
