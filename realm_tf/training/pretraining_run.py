"""Runs REALM pre-training, beside a refresher on the same run directory.

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
from realm_tf.training import candidate_cloze
from realm_tf.training import candidate_report
from realm_tf.training import held_out_queries
from realm_tf.training import held_out_versions
from realm_tf.training import index_age
from realm_tf.training import index_search
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib

_KEPT_VERSIONS = 3


class Options(NamedTuple):
  """Departures from a plain run.

  Attributes:
    init_from: Model directories to start from.
    fixed_search: Replaces the refresher's indexes, e.g. by BM25.
    sparse: Search to add to the refresher's indexes, for 'hybrid' candidates.
    keep_best: Metric of held-out queries that decides which version is best.
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
    queries_dir: Directory of X.
    run_dir: Directory shared with the refresher.

  Raises:
    UserError: `options.keep_best` is given, but no query is held out.
  """
  queries = _open_queries(queries_dir, inputs)
  share = setup.share(inputs.config.pretraining.batch_size)
  measured = _measured(queries, inputs, options, share)
  runs.start(run_dir, inputs, setup)
  parts = [realm_model.MASKED_LM, realm_model.EMBEDDER]
  model, _ = initial_params.create_model(
    inputs, parts, options.init_from, setup
  )
  index = _index_search(inputs, run_dir, model, options, share)
  age = index_age.IndexAge(
    functools.partial(index_age.secs_since_written, run_dir)
  )
  config = inputs.config.pretraining
  run_loop = loop.create(
    lambda optimizer: pretraining_trainer.PretrainingTrainer(
      None, optimizer, model, inputs.config, inputs.special_ids, age
    ),
    inputs.config.seed,
    run_dir,
    config,
    setup,
  )
  run_loop.feed(
    functools.partial(_batches, inputs, queries, options.fixed_search, index)
  )
  held_out = _held_out(inputs, queries, run_dir, run_loop, measured, options)
  train(inputs, run_dir, run_loop, age, held_out)


def _open_queries(queries_dir, inputs):
  """Opens X; checks that it fits the corpus, and the corpus the lengths."""
  queries = query_table.QueryTable.open(queries_dir, verify=True)
  queries.fit_corpus(inputs.table)
  whole_blocks.check(
    inputs.table,
    inputs.config.lengths,
    whole_blocks.of_pretraining(inputs.config),
  )
  return queries


def _measured(queries, inputs, options, share):
  """Returns the rows of the held-out queries to measure, int64 [n]."""
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


def _held_out(inputs, queries, run_dir, run_loop, measured, options):
  """Returns what measures versions on the rows `measured`; None without any."""
  if not len(measured):
    return None
  return held_out_versions.HeldOutVersions(
    held_out_queries.HeldOutQueries(
      inputs, queries, measured, run_loop.trainer
    ),
    run_loop.trainer.model,
    run_dir,
    run_loop.step,
    options.fixed_search,
    options.keep_best,
  )


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


def _batches(inputs, queries, fixed_search, index, share):
  batches = pretraining_batches.batches(
    queries,
    inputs.table,
    fixed_search or index,
    inputs.tokenizer.mask_id,
    inputs.config,
    share,
  )
  if inputs.config.pretraining.inverse_cloze_weight:
    batches = candidate_cloze.with_sentences(
      batches, inputs.table, inputs.ordinary_ids, inputs.config, share
    )
  if index:
    index.start_at(share.first_step)
    batches = pretraining_batches.with_index_step(batches, index)
  return batches


def train(
  inputs: runs.Inputs,
  run_dir: str,
  run_loop: loop.Loop,
  age: index_age.IndexAge,
  held_out: Optional[held_out_versions.HeldOutVersions] = None,
) -> None:
  """Trains from one parameter version to the next, and publishes each.

  Versions are `refresh_every_steps` * `stale_factor` steps apart; the last
  step is always published. With `keep_best`, the best is copied to best/.
  """
  config = inputs.config.pretraining
  num_steps = config.optimizer.num_steps
  every = config.refresh_every_steps * config.stale_factor

  def publish():
    if run_loop.publish() is not None:
      age.published(run_loop.step)

  # A resumed run has versions; one more would make the index fresher.
  if versions.newest(layout.params_root(run_dir)) is None:
    publish()
  while run_loop.step < num_steps:
    run_loop.train(min(num_steps, (run_loop.step // every + 1) * every))
    publish()
    needed = held_out.needed() if held_out else ()
    versions.prune(layout.params_root(run_dir), _KEPT_VERSIONS, needed)
    if held_out:
      held_out.measure_new()
    candidate_report.write(
      run_loop.trainer, inputs.table, inputs.tokenizer, run_dir
    )
  if held_out:
    held_out.wait_for(run_loop.step)
  run_loop.save()
  if held_out:
    held_out.publish_best(inputs)
  run_loop.finish()
