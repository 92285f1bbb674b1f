"""Ranks a stale index's blocks again, by the current parameters.

Section 3.3 of Guu et al. 2020 takes a stale index's top k blocks. Finding more
blocks and embedding them again corrects for the index's age.
"""

import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import embedding
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.retrieval import retriever as retriever_lib


class Reranked:
  """Ranks a retriever's `pretraining.over_retrieval` blocks by a model."""

  def __init__(
    self,
    retriever: retriever_lib.Retriever,
    model: realm_model.RealmModel,
    table: block_table.BlockTable,
    *,
    config: config_lib.ExperimentConfig,
    special_ids: tuple[int, int],
  ):
    self._retriever, self._table = retriever, table
    self._depth = config.pretraining.over_retrieval
    self._lengths = config.lengths
    self._embed_blocks = embedding.compile_blocks(model, special_ids)
    self._embed_queries = embedding.compile_queries(
      model, config.lengths.query_tokens, special_ids
    )

  def retrieve(
    self, queries: retriever_lib.Queries, k: int
  ) -> searcher_lib.Neighbors:
    """Returns the `k` best blocks; ties keep the retriever's order."""
    ids = self._retriever.retrieve(queries, max(k, self._depth)).block_ids
    scores = self._scores(queries.ids, np.maximum(ids, 0))
    scores = np.where(ids < 0, -np.inf, scores)
    order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
    best = (np.take_along_axis(each, order, axis=1) for each in (ids, scores))
    return searcher_lib.mark_missing(*best)

  def _scores(self, query_ids: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
    """Returns the current f(x,z), float32 [B, n]."""
    # Blocks that several queries found are embedded once.
    unique, places = np.unique(block_ids, return_inverse=True)
    embeddings = embedding.embed_blocks(
      self._embed_blocks, self._table, unique, self._lengths
    )
    queries = self._embed_queries(query_ids)  # [B, D]
    return np.einsum(
      'bd,bnd->bn', queries, embeddings[places.reshape(block_ids.shape)]
    )
