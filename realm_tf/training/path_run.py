"""Trains path retrieval: questions, a corpus with links -> model directory.

Embed_doc is frozen, so the index of the model that it starts from stays valid.
"""

from collections.abc import Sequence
import dataclasses

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import query_embeddings
from realm_tf.modeling import realm_model
from realm_tf.records import whole_blocks
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import path_searcher
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_batches
from realm_tf.training import finetuning_index
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import params_export
from realm_tf.training import path_batches
from realm_tf.training import path_trainer
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  run_dir: str,
  init_from: str,
  linked: linked_blocks.LinkedBlocks,
  words: finetuning_batches.Search,
  setup: setup_lib.Setup = setup_lib.ALONE,
) -> None:
  """Trains Embed_input and the path scorer; publishes them, with an index.

  The reader of `init_from` is published unchanged.

  Args:
    run_dir: New model directory.
    init_from: Model directory with embedders to start from.
    linked: Finds what is behind the links of blocks.
    words: Finds seeds of training by words, beside those by embeddings.

  Raises:
    UserError: The model does not fit the corpus.
  """
  inputs = inputs._replace(config=_fitted(inputs.config))
  config, job = inputs.config, inputs.config.path
  whole_blocks.check(inputs.table, config.lengths)
  share = setup.share(job.batch_size)
  labels = answer_labels.of_questions(questions, inputs, config.finetuning)
  runs.start(run_dir, inputs, setup)
  model = _model(inputs, run_dir, init_from, setup)
  # With the first parameters: a checkpoint is not read yet.
  index = _index(inputs, model, run_dir, init_from)
  special_ids = inputs.special_ids

  def create_trainer(optimizer):
    return path_trainer.PathTrainer(None, optimizer, model, special_ids)

  run_loop = loop.create(create_trainer, config.seed, run_dir, job, setup)
  # Not ahead of the step: seeds are found with the current parameters.
  run_loop.trainer.train_dataset = path_batches.batches(
    labels,
    _embedding(inputs, model),
    index.searcher,
    words,
    path_searcher.Paths(linked, index.embeddings),
    config,
    share._replace(first_step=run_loop.step),
  )
  run_loop.run()


def _fitted(config):
  """Returns the config with two towers and labels of the whole block."""
  return dataclasses.replace(
    config,
    model=realm_model.separate_towers(config.model),
    finetuning=dataclasses.replace(
      config.finetuning,
      supervision='gold',
      freeze_block_tower=True,
      refresh_every_steps=0,
    ),
  )


def _model(inputs, run_dir, init_from, setup):
  """Returns the model; publishes what `init_from` has besides."""
  model, left_over = initial_params.create_model(
    inputs,
    [realm_model.EMBEDDER, realm_model.PATH],
    initial_params.InitFrom(init_from),
    setup,
  )
  if setup.is_chief:
    params_export.keep_untrained(
      run_dir, init_from, left_over, inputs.config.model
    )
  return model


def _embedding(inputs, model):
  """Returns what embeds questions with the current parameters."""
  return query_embeddings.compile_any_size(
    model, inputs.config.lengths.query_tokens, inputs.special_ids
  )


def _index(inputs, model, run_dir, init_from):
  """Returns the index of the run; Embed_doc stays as it was."""
  indexes = finetuning_index.FinetuningIndex(inputs, model, run_dir, init_from)
  indexes.build(0)
  return indexes.at(0)
