"""A searcher as a Keras layer: wordpieces of queries in, best blocks out."""

from collections.abc import Callable
from typing import Optional

import numpy as np
import tf_keras

from realm_tf.index import embed_backend
from realm_tf.index import model_files
from realm_tf.index import query_embeddings
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model
from realm_tf.retrieval import retriever


class RetrievalLayer(tf_keras.layers.Layer):
  """Finds the blocks of largest f(x,z), Section 3.3 of Guu et al. 2020.

  The layer runs eagerly, on the host, ahead of the compiled step. It has no
  gradient: the step computes f(x,z) of the found blocks again.

  Args:
    embed: Maps wordpieces, int32 [B, Lx], zeros after them, to float32 [B, D].
  """

  def __init__(
    self,
    embed: Callable[[np.ndarray], np.ndarray],
    searcher: searcher_lib.Searcher,
  ):
    super().__init__()
    self._embed, self._search = embed, searcher.search

  def call(self, query_ids: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Returns the best blocks, [B, k], of wordpieces, int32 [B, Lx]."""
    queries = self._embed(np.asarray(query_ids))  # [B, D]
    return searcher_lib.fill(self._search(queries, k), k)

  def retrieve(
    self, queries: retriever.Queries, k: int
  ) -> searcher_lib.Neighbors:
    return self(queries.ids, k)


def over_model(
  model: realm_model.RealmModel,
  searcher: searcher_lib.Searcher,
  query_tokens: int,
  special_ids: tuple[int, int],
) -> RetrievalLayer:
  """Returns a layer that embeds queries with a model's current variables."""
  embed = query_embeddings.compile_embedding(
    model, query_tokens, special_ids, any_size=True
  )
  return RetrievalLayer(embed, searcher)


def over_index(
  opened: model_files.OpenModel,
  searcher: Optional[searcher_lib.Searcher] = None,
) -> RetrievalLayer:
  """Returns a layer over a model's index, or over another `searcher`."""
  embed = embed_backend.query_embedding(
    opened.model,
    opened.config.lengths.query_tokens,
    opened.tokenizer.special_ids,
    opened.config.index.embed_backend,
  )
  return RetrievalLayer(embed, searcher or opened.index.searcher)
