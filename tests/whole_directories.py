"""Writes a corpus, queries and a model, for tests that damage files."""

import os

from realm_tf.data import block_table
from realm_tf.index import index_builder
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from tests import tiny


def write(directory: str) -> None:
  """Writes corpus/, queries/ and model/, with an index, below `directory`."""
  corpus_dir = tiny.write_corpus(directory)
  tiny.write_queries(
    directory,
    [tiny.query([5, 6], [[0, 1]], 0, 'a b')],
    corpus=block_table.BlockTable.open(corpus_dir),
  )
  model_dir = os.path.join(directory, 'model')
  inputs = job_lib.open_inputs(tiny.config(), corpus_dir)
  job_lib.Job(model_dir).begin(inputs.config, inputs.vocab_file)
  model = realm_model.RealmModel(inputs.config.model, [realm_model.EMBEDDER])
  params = params_export.publish(model_dir, 0, model)
  builder = index_builder.open_builder(model_dir, corpus_dir)
  builder.publish(params, layout.index_root(model_dir))
