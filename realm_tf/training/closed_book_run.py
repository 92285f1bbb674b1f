"""Trains a model that answers from its weights alone (Roberts et al. 2020).

corpus's vocabulary, queries or questions -> model directory
"""

from collections.abc import Sequence
import functools
from typing import Optional

from realm_tf.corpus import questions as questions_lib
from realm_tf.modeling import realm_model
from realm_tf.records import query_table
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
    init_from: Model directory to start from.

  Raises:
    UserError: Queries have another vocabulary, or no question an answer.
  """
  config, job = inputs.config, inputs.config.closed_book
  setup.share(job.batch_size)  # Checks it before the run begins.
  if isinstance(examples, query_table.QueryTable):
    examples.fit_corpus(inputs.table)
    pairs, number = (
      closed_book_batches.of_queries(examples, job, inputs.tokenizer.mask_id),
      examples.num_queries,
    )
  else:
    pairs, number = closed_book_batches.of_questions(
      examples, inputs.tokenizer, job
    )
  runs.start(run_dir, inputs, setup)
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
