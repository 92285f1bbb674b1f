"""Vectors of a real index and real questions, in clustered_vectors' files.

Questions are distributed unlike blocks, so a searcher may be slower on them.
"""

import numpy as np

from benchmarks import clustered_vectors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import sampling
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import realm_model

_BATCH = 64


def write(
  directory: str, index: str, model_dir: str, questions: str, num_queries: int
) -> None:
  """Writes blocks.npy, queries.npy and tuning_queries.npy.

  Args:
    index: An index version.
    model_dir: Model that embedded the index.
    questions: File of at least 2 `num_queries` questions: half to search with,
      half to tune on.
  """
  opened = model_files.open_model(model_dir, [realm_model.EMBEDDER])
  embeddings = storage.read_embeddings(index, storage.read_manifest(index))
  _save(directory, 'blocks', np.asarray(embeddings))
  length = opened.config.lengths.query_tokens
  embed = embedding.compile_queries(
    opened.model, length, opened.tokenizer.special_ids
  )
  drawn = np.random.default_rng(0).permutation(
    [row.question for row in questions_lib.read_questions(questions)]
  )
  ids = sampling.pad_rows(
    opened.tokenizer.token_ids_batch(list(drawn[: 2 * num_queries])), length - 2
  )
  rows = np.concatenate(
    [embed(ids[i : i + _BATCH]) for i in range(0, len(ids), _BATCH)]
  )
  _save(directory, 'queries', rows[:num_queries])
  _save(directory, 'tuning_queries', rows[num_queries:])


def _save(directory, name, rows):
  np.save(clustered_vectors.path(directory, name), rows)
