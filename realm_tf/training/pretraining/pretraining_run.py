"""Runs REALM pre-training next to a refresher on the same run directory."""

from collections.abc import Iterator
from typing import Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.records import sampling
from realm_tf.records import whole_blocks
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import prefetch
from realm_tf.training import runs
from realm_tf.training.pretraining import candidate_cloze
from realm_tf.training.pretraining import candidate_report
from realm_tf.training.pretraining import held_out_queries
from realm_tf.training.pretraining import held_out_versions
from realm_tf.training.pretraining import index_age
from realm_tf.training.pretraining import index_search
from realm_tf.training.pretraining import pretraining_batches
from realm_tf.training.pretraining import pretraining_trainer

_KEPT_VERSIONS = 3
_PARTS = realm_model.MASKED_LM, realm_model.EMBEDDER


def run(
  inputs: runs.Inputs,
  queries_dir: str,
  job: job_lib.Job,
  *,
  retriever: Optional[retriever_lib.Retriever] = None,
  words: Optional[retriever_lib.Retriever] = None,
  keep_best: Optional[str] = None,
) -> None:
  """Pre-trains and publishes parameters for the refresher.

  Args:
    queries_dir: Directory of X.
    retriever: Replaces the refresher's indexes, e.g. by BM25.
    words: Alternates with the refresher's indexes, for 'hybrid' candidates.
    keep_best: Metric of the best version; a UserError without held-out queries.
  """
  queries = _open_queries(queries_dir, inputs)
  config = inputs.config
  measured = _measured(queries, inputs, job, keep_best)
  model = job.create_model(inputs, _PARTS)
  age = index_age.IndexAge(job.run_dir)
  run_loop = loop.Loop(
    job,
    config.pretraining,
    config.seed,
    lambda optimizer: pretraining_trainer.PretrainingTrainer(
      optimizer, model, config, special_ids=inputs.special_ids, age=age
    ),
  )
  index = None
  if not retriever:
    index = index_search.IndexSearch(inputs, job.run_dir, share=run_loop.share)
    retriever = hybrid.Alternating(index, words) if words else index
  batches = _batches(inputs, queries, retriever, index, run_loop.share)
  held_out = None
  if len(measured):
    held_out = held_out_versions.HeldOutVersions(
      held_out_queries.HeldOutQueries(
        inputs, queries, measured, trainer=run_loop.trainer
      ),
      model,
      job.run_dir,
      until=run_loop.step,
      retriever=None if index else retriever,
      metric=keep_best,
    )
  _train(inputs, job.run_dir, run_loop, batches, held_out)


def _open_queries(
  queries_dir: str, inputs: runs.Inputs
) -> query_table.QueryTable:
  """Opens X; checks that it fits the corpus, and that blocks are not cut."""
  queries = query_table.QueryTable.open(queries_dir, verify=True)
  queries.fit_corpus(inputs.table)
  whole_blocks.check(
    inputs.table,
    inputs.config.lengths,
    whole_blocks.of_pretraining(inputs.config),
  )
  return queries


def _measured(
  queries: query_table.QueryTable,
  inputs: runs.Inputs,
  job: job_lib.Job,
  keep_best: Optional[str],
) -> np.ndarray:
  """Returns the rows of the held-out queries to measure, int64 [n]."""
  share = job.share(inputs.config.pretraining.batch_size)
  rows = held_out_queries.choose(queries, inputs)
  if share.count > 1 and len(rows):
    logging.warning('Held-out queries are measured by single processes only.')
    rows = rows[:0]
  if keep_best and not len(rows):
    raise errors.UserError(
      '--keep_best needs held-out queries that one process measures. Found '
      f'none with held_out.share={inputs.config.held_out.share}. Raise it, or '
      'leave out --keep_best.'
    )
  return rows


def _batches(
  inputs: runs.Inputs,
  queries: query_table.QueryTable,
  retriever: retriever_lib.Retriever,
  index: Optional[index_search.IndexSearch],
  share: sampling.Share,
) -> Iterator[pretraining_batches.Batch]:
  batches = pretraining_batches.batches(
    queries,
    inputs.table,
    retriever,
    tokenizer=inputs.tokenizer,
    experiment=inputs.config,
    share=share,
    index=index,
  )
  if inputs.config.pretraining.inverse_cloze_weight:
    batches = candidate_cloze.with_sentences(
      batches,
      inputs.table,
      inputs.ordinary_ids,
      experiment=inputs.config,
      share=share,
    )
  return prefetch.prefetch(batches)


def _train(
  inputs: runs.Inputs,
  run_dir: str,
  run_loop: loop.Loop[pretraining_trainer.PretrainingTrainer],
  batches: Iterator[pretraining_batches.Batch],
  held_out: Optional[held_out_versions.HeldOutVersions],
) -> None:
  """Trains from one parameter version to the next, and publishes each.

  Versions are `refresh_every_steps` apart; the last step is always published.
  """
  root = layout.params_root(run_dir)
  every = inputs.config.pretraining.refresh_every_steps
  # A resumed run has versions; one more would make the index fresher.
  if versions.newest(root) is None:
    run_loop.publish()
  while run_loop.step < run_loop.num_steps:
    until = (run_loop.step // every + 1) * every
    run_loop.train(min(run_loop.num_steps, until), batches)
    run_loop.publish()
    needed = held_out.needed() if held_out else ()
    versions.prune(root, _KEPT_VERSIONS, needed)
    if held_out:
      held_out.measure_new()
    candidate_report.write(
      run_loop.trainer, inputs.table, inputs.tokenizer, run_dir=run_dir
    )
  if held_out:
    held_out.wait_for(run_loop.step)
  run_loop.save()
  if held_out:
    held_out.publish_best(inputs)
  run_loop.finish()
