"""From wordpieces of a query to the ids of the best blocks: embed, search."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from realm_tf.index import query_embeddings
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model


class Retrieved(NamedTuple):
  """The best k blocks of each query, best first.

  Attributes:
    block_ids: int32 [B, k]; -1 where there are fewer.
    scores: float32 [B, k]; retrieval scores f(x,z).
  """

  block_ids: np.ndarray
  scores: np.ndarray


class Retriever:
  """Embeds queries and searches an index.

  Args:
    embed: Maps wordpieces, int32 [B, Lx], zeros behind them, to float32 [B, D].
    searcher: Over the block embeddings.
  """

  def __init__(
    self,
    embed: Callable[[np.ndarray], np.ndarray],
    searcher: searcher_lib.Searcher,
  ):
    self._embed = embed
    self._searcher = searcher

  def retrieve(self, query_ids: np.ndarray, k: int) -> Retrieved:
    """Returns the `k` blocks of largest f(x,z) of each query."""
    neighbors = self._searcher.search(self._embed(query_ids), k)
    return Retrieved(*searcher_lib.fill(neighbors, k))


def of_model(
  model: realm_model.RealmModel,
  searcher: searcher_lib.Searcher,
  query_tokens: int,
  special_ids: tuple[int, int],
) -> Retriever:
  """Returns the retriever that embeds queries with a model as it is then.

  Args:
    model: With the EMBEDDER part.
    searcher: Over block embeddings of its Embed_doc.
    query_tokens: Longest query.
    special_ids: The vocabulary's [CLS] and [SEP].
  """
  embed = query_embeddings.compile_any_size(model, query_tokens, special_ids)
  return Retriever(embed, searcher)
