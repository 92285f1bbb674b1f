"""Trains path retrieval: questions, a corpus with links -> model directory.

Embed_doc is frozen, so one index serves the whole run.
"""

from collections.abc import Sequence
import dataclasses

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.index import embedding
from realm_tf.modeling import realm_model
from realm_tf.records import whole_blocks
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import retriever
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_index
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import runs
from realm_tf.training.rivals import path_trainer


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  linked: linked_blocks.LinkedBlocks,
  words: retriever.Retriever,
) -> None:
  """Trains Embed_input and the path scorer; publishes them, with an index.

  Args:
    job: Its `init_from` gives embedders, and a reader to publish unchanged.
    linked: Finds the blocks that a block links to.
    words: Finds further seeds of training, by words.
  """
  inputs = inputs._replace(config=_fitted(inputs.config))
  config = inputs.config
  whole_blocks.check(inputs.table, config.lengths)
  job.share(config.path.batch_size)  # Checked before the run begins.
  labels = answer_labels.of_questions(questions, inputs, config.finetuning)
  parts = [realm_model.EMBEDDER, realm_model.PATH]
  model = job.create_model(inputs, parts, keep=realm_model.READER_PREFIXES)
  indexes = finetuning_index.FinetuningIndex(
    inputs, model, job.run_dir, init_from=job.init_from.model_dir
  )
  indexes.build(0)  # The first parameters: no checkpoint is read yet.
  index = indexes.at(0)
  run_loop = loop.Loop(
    job,
    config.path,
    config.seed,
    lambda optimizer: path_trainer.PathTrainer(
      optimizer, model, inputs.special_ids
    ),
  )
  # No prefetch: the search for seeds needs the current parameters.
  run_loop.run(
    path_trainer.batches(
      labels,
      embedding.compile_queries(
        model, config.lengths.query_tokens, inputs.special_ids, any_size=True
      ),
      index.searcher,
      words=words,
      paths=linked_blocks.Paths(linked, index.embeddings),
      experiment=config,
      share=run_loop.share,
    )
  )


def _fitted(config: config_lib.ExperimentConfig) -> config_lib.ExperimentConfig:
  """Returns the config with two towers, gold labels and a frozen Embed_doc."""
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
