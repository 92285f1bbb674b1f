"""Runs the warm start: corpus -> model directory with embedders.

Examples are sentences of the corpus (ICT), or questions that it answers.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
import itertools
from typing import Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import held_out
from realm_tf.data import whole_blocks
from realm_tf.model import inverse_cloze
from realm_tf.model import realm_model
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.run import layout
from realm_tf.run import metrics_log
from realm_tf.training import answer_labels
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import runs
from realm_tf.training.inverse_cloze import inverse_cloze_batches
from realm_tf.training.inverse_cloze import inverse_cloze_trainer

# Metric -> share of sentences that are cut out.
_HELD_OUT = {'held_out_accuracy': 1.0, 'held_out_accuracy_left_in': 0.0}


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  words: Optional[retriever_lib.Retriever] = None,
) -> None:
  """Trains and publishes both embedders, with the reader of `job.init_from`.

  Args:
    questions: Training questions; none for ICT.
    words: Finds blocks for questions without `gold_id`.

  Raises:
    UserError: A replica's part of the batch cannot be divided into chunks, or
      no block answers a question.
  """
  config = inputs.config
  share = job.share(config.inverse_cloze.batch_size)
  _check_chunks(config.inverse_cloze, job)
  whole_blocks.check(inputs.table, config.lengths)
  batches_of = _batches_of(inputs, questions, words)
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
  rows = held_out_rows(inputs) if share.count == 1 else np.zeros(0, np.int64)
  metrics_log.cut(layout.held_out_file(job.run_dir), run_loop.step - 1)
  _log_held_out(inputs, job, run_loop, rows)
  run_loop.train(
    run_loop.num_steps, loop.prefetch(batches_of(share=run_loop.share))
  )
  run_loop.publish()
  _log_held_out(inputs, job, run_loop, rows)
  run_loop.finish()


def _log_held_out(
  inputs: runs.Inputs, job: job_lib.Job, run_loop: loop.Loop, rows: np.ndarray
) -> None:
  if rows.size:
    means = measure(inputs, run_loop.trainer, rows)
    metrics_log.append_held_out(job.run_dir, run_loop.step, means)


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


def _batches_of(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  words: Optional[retriever_lib.Retriever],
) -> Callable[..., Iterator[inverse_cloze_batches.Batch]]:
  """Returns a maker of batches, from sentences or from questions."""
  config = inputs.config
  if not questions:
    return functools.partial(
      inverse_cloze_batches.batches, inputs.table, inputs.ordinary_ids, config
    )
  # Labels for the retriever: answers count in the embedded wordpieces only.
  finetuning = dataclasses.replace(
    config.finetuning,
    supervision='gold',
    joint_tokens=config.lengths.block_tokens,
  )
  labels = answer_labels.of_questions(questions, inputs, finetuning)
  pairs = inverse_cloze_batches.find_pairs(labels, words)
  logging.info(
    '%d of %d questions have a block that answers them.',
    len(pairs.rows),
    len(questions),
  )
  return functools.partial(
    inverse_cloze_batches.pair_batches, pairs, labels, config
  )


def held_out_rows(inputs: runs.Inputs) -> np.ndarray:
  """Returns the held-out blocks to measure, int64 [n], ascending."""
  config = inputs.config
  is_held_out = held_out.blocks(inputs.table, config.held_out.share)
  return held_out.choose(is_held_out, config.held_out.num_queries, config.seed)


def measure(
  inputs: runs.Inputs,
  trainer: inverse_cloze_trainer.InverseClozeTrainer,
  blocks: np.ndarray,
) -> dict[str, float]:
  """Returns the mean accuracy over at least one block, by the metric's name.

  Each sentence is once cut out of its block and once left in. A model that only
  compares words succeeds in the second case alone (Lee et al. 2019, Section 4).
  """
  config = inputs.config
  size = min(config.inverse_cloze.batch_size, len(blocks))
  embed = tf.function(lambda batch: trainer.embed(batch, training=False))
  result = {}
  for name, rate in _HELD_OUT.items():
    how = dataclasses.replace(
      config.inverse_cloze,
      batch_size=size,
      chunk_size=0,
      remove_rate=rate,
      query_drop_rate=0.0,
      query_noise_rate=0.0,
    )
    batches = inverse_cloze_batches.batches(
      inputs.table,
      inputs.ordinary_ids,
      dataclasses.replace(config, inverse_cloze=how),
      rows=blocks,
    )
    right = [
      inverse_cloze.in_batch_accuracy(*embed(batch)).numpy()
      for batch in itertools.islice(batches, len(blocks) // size)
    ]
    result[name] = float(np.mean(right))
  return result
