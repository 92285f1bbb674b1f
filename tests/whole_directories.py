"""Writes a corpus, queries and a model, for tests that damage files."""

import os

from realm_tf.data import block_table
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.training import job as job_lib
from tests import model_dirs
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
  model = model_dirs.write(model_dir, inputs, [realm_model.EMBEDDER])
  model_dirs.index(inputs, model, layout.index_root(model_dir))
