"""Trains a model that answers from its weights alone (Roberts et al. 2020).

corpus's vocabulary, queries or questions -> model directory
"""

from collections.abc import Sequence
import dataclasses

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.training import answer_labels
from realm_tf.training import answerable
from realm_tf.training import job as job_lib
from realm_tf.training import prefetch
from realm_tf.training import runs
from realm_tf.training.rivals import closed_book_batches
from realm_tf.training.rivals import closed_book_trainer

Examples = query_table.QueryTable | Sequence[questions_lib.Question]


def run(inputs: runs.Inputs, examples: Examples, job: job_lib.Job) -> None:
  """Trains on salient spans, or on questions, and publishes the parameters.

  Args:
    inputs: Corpus, of which the vocabulary is used, and config.
    examples: Masked sentences or questions.
    job: An imported T5 in its `init_from` brings its sizes and its pieces
      along.

  Raises:
    UserError: Queries have another vocabulary, or no question has its answer
      in the corpus, or queries are given to an imported T5.
  """
  _check_answers(inputs, examples)
  init_from = job.init_from.model_dir
  pieces = None
  if init_from and tf.io.gfile.exists(layout.sentencepiece_file(init_from)):
    opened = model_files.open_model(init_from)
    pieces = opened.tokenizer
    inputs = _with_sizes_of(opened, inputs, examples)
  config, tokenizer = inputs.config, pieces or inputs.tokenizer
  job.share(config.closed_book)  # Checked before the run begins.
  pairs, number = _pairs(inputs, examples, tokenizer)
  model, _ = job.create_model(inputs, [realm_model.SEQ2SEQ])
  if pieces and job.setup.is_chief:
    files = map(layout.sentencepiece_file, (init_from, job.run_dir))
    tf.io.gfile.copy(*files, overwrite=True)
  run_loop = job.start(
    config.closed_book,
    config.seed,
    lambda optimizer: closed_book_trainer.ClosedBookTrainer(optimizer, model),
  )
  _, end_id = tokenizer.special_ids
  run_loop.run(
    prefetch.prefetch(
      closed_book_batches.batches(
        pairs, number, end_id, experiment=config, share=run_loop.share
      )
    )
  )


def _check_answers(inputs: runs.Inputs, examples: Examples) -> None:
  """Raises UserError if no question has its answer in the corpus."""
  if not isinstance(examples, query_table.QueryTable):
    answers = answer_labels.tokenize(examples, inputs.tokenizer, 1).answers
    length = inputs.config.lengths.block_tokens
    answerable.check(examples, answers, inputs.table, length=length)


def _pairs(
  inputs: runs.Inputs, examples: Examples, tokenizer: answer_labels.Tokenizer
) -> tuple[closed_book_batches.Pairs, int]:
  """Returns pairs of input and output, and their number."""
  config = inputs.config.closed_book
  if not isinstance(examples, query_table.QueryTable):
    return closed_book_batches.of_questions(examples, tokenizer, config)
  examples.fit_corpus(inputs.table)
  pairs = closed_book_batches.of_queries(
    examples, config, inputs.tokenizer.mask_id
  )
  return pairs, examples.num_queries


def _with_sizes_of(
  opened: model_files.OpenModel, inputs: runs.Inputs, examples: Examples
) -> runs.Inputs:
  """Returns inputs whose config has the sizes of an imported T5."""
  if isinstance(examples, query_table.QueryTable):
    raise errors.UserError(
      "Sentences of --queries_dir have the corpus's wordpieces. Found a T5 "
      f'with others in {opened.path}. Give --questions instead.'
    )
  model = dataclasses.replace(
    inputs.config.model, seq2seq=opened.config.model.seq2seq
  )
  return inputs._replace(config=dataclasses.replace(inputs.config, model=model))
