"""Trains a model that answers from its weights alone (Roberts et al. 2020).

corpus's vocabulary, queries or questions -> model directory
"""

from collections.abc import Sequence
import dataclasses
import functools
from typing import Any, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.corpus import questions as questions_lib
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.training import answer_labels
from realm_tf.training import answerable
from realm_tf.training import closed_book_batches
from realm_tf.training import closed_book_trainer
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib


def run(
  inputs: runs.Inputs,
  examples: query_table.QueryTable | Sequence[questions_lib.Question],
  run_dir: str,
  init_from: Optional[str] = None,
  setup: setup_lib.Setup = setup_lib.ALONE,
) -> None:
  """Trains on salient spans, or on questions, and publishes the parameters.

  Args:
    run_dir: New model directory.
    init_from: Model directory to start from; an imported T5 brings its sizes
      and its pieces along.

  Raises:
    UserError: Queries have another vocabulary, or no question has its answer
      in the corpus, or queries are given to an imported T5.
  """
  _check_answers(inputs, examples)
  is_imported = bool(init_from) and model_directory.has_sentencepieces(
    init_from
  )
  if is_imported:
    inputs = _of_t5(inputs, examples, init_from)
  config, job = inputs.config, inputs.config.closed_book
  setup.share(job.batch_size)  # Checks it before the run begins.
  pairs, number = _pairs(inputs, examples)
  runs.start(run_dir, inputs, setup)
  if is_imported and setup.is_chief:
    files = map(layout.sentencepiece_file, (init_from, run_dir))
    tf.io.gfile.copy(*files, overwrite=True)
  model, _ = initial_params.create_model(
    inputs, [realm_model.SEQ2SEQ], initial_params.InitFrom(init_from), setup
  )
  run_loop = loop.create(
    lambda optimizer: closed_book_trainer.ClosedBookTrainer(
      None, optimizer, model
    ),
    config.seed,
    run_dir,
    job,
    setup,
  )
  _, end_id = inputs.special_ids
  run_loop.feed(
    functools.partial(
      closed_book_batches.batches, pairs, number, end_id, config
    )
  )
  run_loop.run()


def _check_answers(inputs, examples):
  """Raises UserError if no question has its answer in the corpus."""
  if not isinstance(examples, query_table.QueryTable):
    answers = answer_labels.tokenize(examples, inputs.tokenizer, 1).answers
    length = inputs.config.lengths.block_tokens
    answerable.check(examples, answers, inputs.table, length)


def _pairs(inputs, examples):
  """Returns pairs of input and output, and their number."""
  job = inputs.config.closed_book
  if not isinstance(examples, query_table.QueryTable):
    return closed_book_batches.of_questions(examples, inputs.tokenizer, job)
  examples.fit_corpus(inputs.table)
  pairs = closed_book_batches.of_queries(
    examples, job, inputs.tokenizer.mask_id
  )
  return pairs, examples.num_queries


def _of_t5(inputs, examples, init_from):
  """Returns inputs with an imported T5's sizes and tokenizer."""
  if isinstance(examples, query_table.QueryTable):
    raise errors.UserError(
      "Sentences of --queries_dir have the corpus's wordpieces. Found a T5 "
      f'with others in {init_from}. Give --questions instead.'
    )
  tokenizer: Any = model_files.open_sentencepieces(init_from)
  model = dataclasses.replace(
    inputs.config.model, seq2seq=config_files.read(init_from).model.seq2seq
  )
  return inputs._replace(
    config=dataclasses.replace(inputs.config, model=model),
    tokenizer=tokenizer,
    special_ids=tokenizer.special_ids,
  )
