"""Runs the warm start: corpus -> model directory with embedders.

Examples are sentences of the corpus (ICT), or questions that it answers.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
from typing import Optional

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.modeling import realm_model
from realm_tf.records import null_block
from realm_tf.records import sampling
from realm_tf.records import whole_blocks
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.rundir import layout
from realm_tf.rundir import metrics_log
from realm_tf.training import answer_labels
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import prefetch
from realm_tf.training import runs
from realm_tf.training.inverse_cloze import hard_negatives
from realm_tf.training.inverse_cloze import held_out_cloze
from realm_tf.training.inverse_cloze import inverse_cloze_batches
from realm_tf.training.inverse_cloze import inverse_cloze_trainer
from realm_tf.training.inverse_cloze import question_pairs

_BatchesOf = Callable[[sampling.Share], Iterator[inverse_cloze_batches.Batch]]


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  words: Optional[retriever_lib.Retriever] = None,
  negatives_from: Optional[retriever_lib.Retriever] = None,
) -> None:
  """Trains and publishes both embedders, with the reader of `job.init_from`.

  Args:
    questions: Training questions; none for ICT.
    words: Finds blocks for questions without `gold_id`.
    negatives_from: Finds hard negatives of questions.

  Raises:
    UserError: A replica's part of the batch cannot be divided into chunks, or
      no block answers a question.
  """
  config = inputs.config
  is_alone = job.share(config.inverse_cloze.batch_size).count == 1
  _check_chunks(config.inverse_cloze, job)
  whole_blocks.check(inputs.table, config.lengths)
  batches_of = _batches_of(inputs, questions, words, negatives_from)
  model = job.create_model(
    inputs, [realm_model.EMBEDDER], keep=realm_model.READER_PREFIXES
  )
  run_loop = loop.Loop(
    job,
    config.inverse_cloze,
    config.seed,
    lambda optimizer: inverse_cloze_trainer.InverseClozeTrainer(
      optimizer,
      model,
      config.inverse_cloze,
      lengths=config.lengths,
      special_ids=inputs.special_ids,
    ),
  )
  batches = prefetch.prefetch(batches_of(run_loop.share))
  held_out = held_out_cloze.rows(inputs) if is_alone else ()
  metrics_log.cut(layout.held_out_file(job.run_dir), run_loop.step - 1)
  _measure(inputs, job.run_dir, run_loop, held_out)
  run_loop.train(run_loop.num_steps, batches)
  run_loop.publish()
  _measure(inputs, job.run_dir, run_loop, held_out)
  run_loop.finish()


def _measure(
  inputs: runs.Inputs,
  run_dir: str,
  run_loop: loop.Loop[inverse_cloze_trainer.InverseClozeTrainer],
  held_out: Sequence[int] | np.ndarray,
) -> None:
  if len(held_out):
    means = held_out_cloze.measure(inputs, run_loop.trainer, held_out)
    metrics_log.append_held_out(run_dir, run_loop.step, means)


def _batches_of(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  words: Optional[retriever_lib.Retriever],
  negatives_from: Optional[retriever_lib.Retriever],
) -> _BatchesOf:
  """Returns a maker of batches, from sentences or from questions."""
  config = inputs.config
  if not questions:
    return lambda share: inverse_cloze_batches.batches(
      inputs.table, inputs.ordinary_ids, config, share=share
    )
  # Labels for the retriever: answers count in the embedded wordpieces only.
  finetuning = dataclasses.replace(
    config.finetuning,
    supervision='gold',
    joint_tokens=config.lengths.block_tokens,
  )
  labels = answer_labels.of_questions(questions, inputs, finetuning)
  pairs = question_pairs.find(labels, words)
  logging.info(
    '%d of %d questions have a block that answers them.',
    len(pairs.rows),
    len(questions),
  )
  negatives = None
  if negatives_from:
    negatives = hard_negatives.mine(*pairs, labels, retriever=negatives_from)
    logging.info(
      '%d of them have hard negatives.',
      np.sum(negatives[:, 0] != null_block.ID),
    )
  return lambda share: question_pairs.batches(
    pairs, labels, config, share=share, negatives=negatives
  )


def _check_chunks(
  config: config_lib.InverseClozeConfig, job: job_lib.Job
) -> None:
  count = job.strategy.num_replicas_in_sync
  part, size = config.batch_size // count, config.chunk_size
  if size and part % size:
    raise errors.UserError(
      "A replica's part of the batch must be whole chunks. Found "
      f'{part} examples on each of {count} replicas, and '
      f'inverse_cloze.chunk_size={size}. Set it to a divisor of {part}.'
    )
