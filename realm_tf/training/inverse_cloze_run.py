"""Runs the warm start: corpus -> model directory with embedders.

Trains on sentences of the corpus (ICT), or on questions that it answers.
"""

from collections.abc import Sequence
import dataclasses
import functools
from typing import Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.modeling import realm_model
from realm_tf.records import whole_blocks
from realm_tf.rundir import layout
from realm_tf.rundir import metrics_log
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_batches
from realm_tf.training import hard_negatives
from realm_tf.training import held_out_cloze
from realm_tf.training import initial_params
from realm_tf.training import inverse_cloze_batches
from realm_tf.training import inverse_cloze_trainer
from realm_tf.training import loop
from realm_tf.training import params_export
from realm_tf.training import question_pairs
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib


def run(
  inputs: runs.Inputs,
  run_dir: str,
  init_from: Optional[str] = None,
  setup: setup_lib.Setup = setup_lib.ALONE,
  questions: Sequence[questions_lib.Question] = (),
  search: Optional[finetuning_batches.Search] = None,
  retriever: Optional[finetuning_batches.Search] = None,
) -> None:
  """Trains both embedders and publishes them in `run_dir`.

  The reader of `init_from` is published unchanged.

  Args:
    run_dir: New model directory.
    init_from: Model directory to start from.
    questions: Training questions; without any, the task is ICT.
    search: Finds blocks for questions that name no article; see
      `question_pairs.find`.
    retriever: Finds hard negatives of questions; see `hard_negatives`.

  Raises:
    UserError: A replica's part of the batch cannot be divided into chunks, or
      no block answers a question.
  """
  config, job = inputs.config, inputs.config.inverse_cloze
  share = setup.share(job.batch_size)
  _check_chunks(job, setup)
  whole_blocks.check(inputs.table, config.lengths)
  # Before the run begins, so that a user's mistake leaves no directory behind.
  batches_of = _batches_of(inputs, questions, search, retriever)
  runs.start(run_dir, inputs, setup)
  model, left_over = initial_params.create_model(
    inputs, [realm_model.EMBEDDER], initial_params.InitFrom(init_from), setup
  )
  if init_from and setup.is_chief:
    params_export.keep_untrained(run_dir, init_from, left_over, config.model)
  run_loop = loop.create(
    lambda optimizer: inverse_cloze_trainer.InverseClozeTrainer(
      None, optimizer, model, config.lengths, inputs.special_ids, job
    ),
    config.seed,
    run_dir,
    job,
    setup,
    max(1, job.optimizer.num_steps // 20),
  )
  run_loop.feed(functools.partial(batches_of, config))
  _train(inputs, run_dir, run_loop, is_measured=share.count == 1)


def _train(inputs, run_dir, run_loop, is_measured):
  """Trains, and measures ICT on held-out articles before and after."""
  blocks = held_out_cloze.rows(inputs) if is_measured else ()
  metrics_log.cut(layout.held_out_file(run_dir), run_loop.step - 1)

  def measure():
    if len(blocks):
      means = held_out_cloze.measure(inputs, run_loop.trainer, blocks)
      metrics_log.append_held_out(run_dir, run_loop.step, means)

  measure()
  run_loop.train(inputs.config.inverse_cloze.optimizer.num_steps)
  run_loop.publish()
  measure()
  run_loop.finish()


def _batches_of(inputs, questions, search, retriever):
  """Returns (config, share) -> batches."""
  config = inputs.config
  if not questions:
    return functools.partial(
      inverse_cloze_batches.batches, inputs.table, inputs.ordinary_ids
    )
  # Labels for the retriever, of the wordpieces that are embedded.
  finetuning = dataclasses.replace(
    config.finetuning,
    supervision='gold',
    joint_tokens=config.lengths.block_tokens,
  )
  labels = answer_labels.of_questions(questions, inputs, finetuning)
  pairs = question_pairs.find(labels, search)
  logging.info(
    '%d of %d questions have a block that answers them.',
    len(pairs.rows),
    len(questions),
  )
  negatives = None
  if retriever:
    negatives = hard_negatives.mine(*pairs, labels, retriever)
    logging.info(
      '%d of them have hard negatives.',
      np.sum(negatives[:, 0] != hard_negatives.NONE),
    )
  return functools.partial(
    question_pairs.batches, pairs, labels, negatives=negatives
  )


def _check_chunks(config, setup):
  count = setup.resolved.num_replicas_in_sync
  part, size = config.batch_size // count, config.chunk_size
  if size and part % size:
    raise errors.UserError(
      "A replica's part of the batch must be whole chunks. Found "
      f'{part} examples on each of {count} replicas, and '
      f'inverse_cloze.chunk_size={size}. Set it to a divisor of {part}.'
    )
