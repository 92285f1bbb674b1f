"""Ranks the blocks that a stale index found by the current parameters.

  query, n blocks -> [this file] -> the k blocks of largest current f(x,z)

Section 3.3 of Guu et al. 2020 takes the stale index's top blocks as they are.
Searching for more of them, and embedding these anew, makes up for its age if
the good blocks are among the first n.
"""

import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import block_embeddings
from realm_tf.index import query_embeddings
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model
from realm_tf.records import block_table


class Reranker:
  """Embeds queries and blocks with a model's current variables."""

  def __init__(
    self,
    model: realm_model.RealmModel,
    table: block_table.BlockTable,
    config: config_lib.ExperimentConfig,
    special_ids: tuple[int, int],
  ):
    self._table = table
    self._lengths = config.lengths
    self._embed_blocks = block_embeddings.compile_embedding(model, special_ids)
    self._embed_queries = query_embeddings.compile_embedding(
      model, config.lengths.query_tokens, special_ids
    )

  def best(
    self, query_ids: np.ndarray, block_ids: np.ndarray, k: int
  ) -> np.ndarray:
    """Returns the `k` best of each query's blocks.

    Args:
      query_ids: int32 [B, Lx].
      block_ids: int [B, n]; negative where nothing was found.
      k: Blocks wanted, at most n.

    Returns:
      int32 [B, k], best first; `searcher.NOT_FOUND` where there are fewer. Ties
      keep their order.
    """
    scores = np.where(
      block_ids < 0, -np.inf, self._scores(query_ids, np.maximum(block_ids, 0))
    )
    order = np.argsort(-scores, axis=1, kind='stable')[:, :k]
    best = np.take_along_axis(block_ids, order, axis=1)
    return np.where(best < 0, searcher_lib.NOT_FOUND, best).astype(np.int32)

  def _scores(self, query_ids, block_ids):
    """Returns the current f(x,z), float32 [B, n]."""
    # Blocks that several queries found are embedded once.
    unique, places = np.unique(block_ids, return_inverse=True)
    embeddings = block_embeddings.embed_blocks(
      self._embed_blocks, self._table, unique, self._lengths
    )
    queries = self._embed_queries(query_ids)  # [B, D]
    return np.einsum(
      'bd,bnd->bn', queries, embeddings[places.reshape(block_ids.shape)]
    )
