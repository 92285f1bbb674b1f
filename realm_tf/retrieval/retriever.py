"""From wordpieces of a query to the ids of the best blocks: embed, search."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model
from realm_tf.records import joining


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


def query_embedding_function(
  model: realm_model.RealmModel,
  lengths: config_lib.LengthConfig,
  special_ids: tuple[int, int],
) -> Callable[[np.ndarray], np.ndarray]:
  """Returns a compiled function from wordpieces to query embeddings.

  It reads the model's variables at each call: tuned or swapped parameters take
  effect at once.

  Args:
    model: With the EMBEDDER part.
    lengths: `query_tokens`.
    special_ids: The vocabulary's [CLS] and [SEP].
  """
  cls_id, sep_id = special_ids

  @tf.function
  def embed(query_ids):
    return model.embed_queries(
      joining.pack_longest(
        query_ids, None, cls_id, sep_id, lengths.query_tokens
      )
    )

  return lambda query_ids: embed(tf.constant(query_ids, tf.int32)).numpy()
