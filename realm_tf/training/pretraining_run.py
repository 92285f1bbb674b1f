"""REALM pre-training as a job, beside a refresher on the same run directory.

queries, corpus, index versions -> [this file] -> parameter versions
"""

import functools
from typing import NamedTuple, Optional

from absl import logging

from realm_tf import errors
from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.records import whole_blocks
from realm_tf.retrieval import candidates
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import candidate_report
from realm_tf.training import held_out_queries
from realm_tf.training import held_out_versions
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


class Options(NamedTuple):
  """How a job departs from the plain one.

  Attributes:
    init_from: What to start from.
    fixed_search: Replaces the refresher's indexes, e.g. by BM25.
    sparse: Searches beside the refresher's indexes, for 'hybrid' candidates.
    keep_best: Metric of held-out queries by which parameters are chosen.
  """

  init_from: initial_params.InitFrom = initial_params.NOTHING
  fixed_search: Optional[candidates.Search] = None
  sparse: Optional[candidates.Search] = None
  keep_best: Optional[str] = None


_PLAIN = Options()


def run(
  inputs: runs.Inputs,
  queries_dir: str,
  run_dir: str,
  options: Options = _PLAIN,
  setup: setup_lib.Setup = setup_lib.ALONE,
) -> None:
  """Pre-trains and publishes parameters for the refresher.

  Args:
    inputs: Of the job.
    queries_dir: X.
    run_dir: Shared with the refresher.
    options: See there.
    setup: Of this process.

  Raises:
    UserError: Nothing is held out that the best could be kept by.
  """
  queries = _open_queries(queries_dir, inputs)
  share = setup.share(inputs.config.pretraining.batch_size)
  measured = _measured(queries, inputs, options, share)
  runs.start(run_dir, inputs, setup)
  with setup.scope():
    model = realm_model.RealmModel(
      inputs.config.model, [realm_model.MASKED_LM, realm_model.EMBEDDER]
    )
    initial_params.load(model, inputs, options.init_from)
  index = _index_search(inputs, run_dir, model, options, share)
  age = index_age.IndexAge(
    functools.partial(index_age.secs_since_written, run_dir)
  )
  with setup.scope():
    trainer = _trainer(inputs, model, index, age)
  pace = setup_lib.Pace.of(inputs.config.pretraining)
  run_loop = loop.Loop(trainer, run_dir, pace, setup)
  share = share._replace(first_step=run_loop.step)
  trainer.train_dataset = _batches(
    inputs, queries, options.fixed_search, index, share
  )
  kept = (
    None
    if not len(measured)
    else held_out_versions.HeldOutVersions(
      held_out_queries.HeldOutQueries(inputs, queries, measured, trainer),
      *(model, run_dir, run_loop.step),
      *(options.fixed_search, options.keep_best),
    )
  )
  train(inputs, trainer, run_dir, run_loop, age, kept)


def _open_queries(queries_dir, inputs):
  """Returns X, checked like the corpus that it goes with."""
  queries = query_table.QueryTable.open(queries_dir, verify=True)
  queries.fit_corpus(inputs.table)
  whole_blocks.check(
    inputs.table,
    inputs.config.lengths,
    whole_blocks.of_pretraining(inputs.config),
  )
  return queries


def _measured(queries, inputs, options, share):
  """Returns the queries that are measured; see `held_out_queries.choose`."""
  rows = held_out_queries.choose(queries, inputs)
  if share.count > 1 and len(rows):
    logging.warning('Held-out queries are measured by single processes only.')
    rows = rows[:0]
  if options.keep_best and not len(rows):
    raise errors.UserError(
      '--keep_best needs held-out queries that one process measures. Found '
      f'none with held_out.share={inputs.config.held_out.share}. Raise it, or '
      'leave out --keep_best.'
    )
  return rows


def _index_search(inputs, run_dir, model, options, share):
  """Returns the search in the refresher's indexes; None if another is given."""
  if options.fixed_search:
    return None
  search = index_search.IndexSearch(
    inputs, run_dir, model, process=share.number
  )
  if options.sparse:
    search.take_turns_with(options.sparse)
  return search


def _trainer(inputs, model, index, age):
  """Returns the trainer, which has no batches yet."""
  config = inputs.config.pretraining
  trainer = pretraining_trainer.PretrainingTrainer(
    None,
    optimizer_lib.create(config.optimizer, config.reader_only_steps),
    model,
    inputs.config,
    inputs.special_ids,
    pretraining_trainer.IndexSide(age, index and index.overlay),
  )
  trainer.seed_dropout(inputs.config.seed)
  return trainer


def _batches(inputs, queries, fixed_search, index, share):
  words = pretraining_batches.Words(
    inputs.tokenizer.mask_id, inputs.ordinary_ids
  )
  batches = pretraining_batches.batches(
    queries, inputs.table, fixed_search or index, words, inputs.config, share
  )
  if index:
    index.start_at(share.first_step)
    batches = pretraining_batches.with_index_step(batches, index)
  return prefetch.prefetch(batches)


def train(
  inputs: runs.Inputs,
  trainer: pretraining_trainer.PretrainingTrainer,
  run_dir: str,
  run_loop: loop.Loop,
  age: index_age.IndexAge,
  held_out: Optional[held_out_versions.HeldOutVersions] = None,
) -> None:
  """Trains from one parameter version to the next, and publishes each.

  They are `refresh_every_steps` * `stale_factor` steps apart; the last step's
  is always published, and the best goes to best/ too, if it is to be kept.

  Args:
    inputs: Of the job.
    trainer: With batches.
    run_dir: Shared with the refresher.
    run_loop: Of the trainer.
    age: Age of the index.
    held_out: Measures versions; None measures none.
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
    needed = held_out.needed() if held_out else ()
    versions.prune(layout.params_root(run_dir), _KEPT_VERSIONS, needed)
    if held_out:
      held_out.measure_new()
    candidate_report.write(trainer, inputs.table, inputs.tokenizer, run_dir)
  if held_out:
    held_out.wait_for(run_loop.step)
  run_loop.save()
  if held_out:
    held_out.publish_best(inputs)
  run_loop.finish()
