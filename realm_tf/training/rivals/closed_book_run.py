"""Trains a model that answers from its weights alone (Roberts et al. 2020)."""

from collections.abc import Sequence
import dataclasses

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.training import answer_labels
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import prefetch
from realm_tf.training import runs
from realm_tf.training.rivals import closed_book_trainer

Examples = query_table.QueryTable | Sequence[questions_lib.Question]


def run(inputs: runs.Inputs, examples: Examples, job: job_lib.Job) -> None:
  """Trains on salient spans, or on questions, and publishes the parameters.

  An imported T5 as `job.init_from` brings its sizes and its sentencepieces.
  Other models have the corpus's vocabulary.

  Raises:
    UserError: Queries have another vocabulary or come with an imported T5, or
      no question has its answer in the corpus.
  """
  init_from = job.init_from.model_dir or ''
  pieces = layout.sentencepiece_file(init_from)
  is_t5 = bool(init_from) and tf.io.gfile.exists(pieces)
  tokenizer: answer_labels.Tokenizer = inputs.tokenizer
  if is_t5:
    opened = model_files.open_model(init_from)
    tokenizer = opened.tokenizer
    inputs = _with_sizes_of(opened.config.model, inputs)
  config = inputs.config
  job.share(config.closed_book.batch_size)  # Checked before the run begins.
  pairs = _pairs(inputs, examples, tokenizer)
  model = job.create_model(inputs, [realm_model.SEQ2SEQ])
  if is_t5 and job.is_chief:
    copy = layout.sentencepiece_file(job.run_dir)
    tf.io.gfile.copy(pieces, copy, overwrite=True)
  run_loop = loop.Loop(
    job,
    config.closed_book,
    config.seed,
    lambda optimizer: closed_book_trainer.ClosedBookTrainer(optimizer, model),
  )
  _, end_id = tokenizer.special_ids
  run_loop.run(
    prefetch.prefetch(
      closed_book_trainer.batches(
        pairs, end_id, experiment=config, share=run_loop.share
      )
    )
  )


def _pairs(
  inputs: runs.Inputs, examples: Examples, tokenizer: answer_labels.Tokenizer
) -> closed_book_trainer.Pairs:
  """Returns inputs with their outputs; checks that they fit the corpus."""
  config = inputs.config.closed_book
  if not isinstance(examples, query_table.QueryTable):
    length = inputs.config.lengths.block_tokens
    tokenized = answer_labels.tokenize(examples, inputs.tokenizer, 1)
    answer_labels.check(tokenized, inputs.table, length=length)
    return closed_book_trainer.of_questions(examples, tokenizer, config)
  if tokenizer is not inputs.tokenizer:
    raise errors.UserError(
      "A model for --queries_dir must have the corpus's wordpieces. Found a T5 "
      'with others as --init_from. Give --questions instead.'
    )
  examples.fit_corpus(inputs.table)
  return closed_book_trainer.of_queries(
    examples, config, inputs.tokenizer.mask_id
  )


def _with_sizes_of(
  t5: config_lib.ModelConfig, inputs: runs.Inputs
) -> runs.Inputs:
  model = dataclasses.replace(inputs.config.model, seq2seq=t5.seq2seq)
  return inputs._replace(config=dataclasses.replace(inputs.config, model=model))
