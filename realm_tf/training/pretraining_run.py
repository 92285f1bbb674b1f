"""Runs REALM pre-training next to a refresher on the same run directory."""

from collections.abc import Iterator
from typing import Optional

from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.data import whole_blocks
from realm_tf.model import realm_model
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import candidate_report
from realm_tf.training import held_out_versions
from realm_tf.training import index_search
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer

_KEPT_VERSIONS = 3
_PARTS = realm_model.MASKED_LM, realm_model.EMBEDDER


def run(
  inputs: job_lib.Inputs,
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
  config = inputs.config
  queries = query_table.QueryTable.open(queries_dir, verify=True)
  queries.fit_corpus(inputs.table)
  reading = whole_blocks.of_pretraining(config)
  whole_blocks.check(inputs.table, config.lengths, reading)
  measured = held_out_versions.choose(queries, inputs, job, keep_best)
  model = job.create_model(inputs, _PARTS)
  run_loop = loop.Loop(
    job,
    config.pretraining,
    config.seed,
    lambda optimizer: pretraining_trainer.PretrainingTrainer(
      optimizer, model, config, special_ids=inputs.special_ids
    ),
  )
  batches = _batches(queries, inputs, job, run_loop.share, retriever, words)
  held_out = None
  if len(measured):
    held_out = held_out_versions.HeldOutVersions(
      held_out_versions.HeldOutQueries(
        inputs, queries, measured, trainer=run_loop.trainer
      ),
      model,
      job.run_dir,
      until=run_loop.step,
      retriever=retriever,
      metric=keep_best,
    )
  _train(inputs, job.run_dir, run_loop, loop.prefetch(batches), held_out)


def _batches(
  queries: query_table.QueryTable,
  inputs: job_lib.Inputs,
  job: job_lib.Job,
  share: sampling.Share,
  retriever: Optional[retriever_lib.Retriever],
  words: Optional[retriever_lib.Retriever],
) -> Iterator[pretraining_batches.Batch]:
  """Yields batches found by `retriever`, or by the refresher's indexes."""
  index_step = None
  if not retriever:
    index = index_search.IndexSearch(inputs, job.run_dir, share=share)
    retriever = retriever_lib.Alternating(index, words) if words else index
    index_step = lambda: index.step
  batches = pretraining_batches.batches(
    queries,
    inputs.table,
    retriever,
    tokenizer=inputs.tokenizer,
    experiment=inputs.config,
    share=share,
    index_step=index_step,
  )
  if not inputs.config.pretraining.inverse_cloze_weight:
    return batches
  return pretraining_batches.with_sentences(
    batches,
    inputs.table,
    inputs.ordinary_ids,
    experiment=inputs.config,
    share=share,
  )


def _train(
  inputs: job_lib.Inputs,
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
