"""A searcher as a Keras layer: wordpieces of queries in, the best blocks out.

Pre-training, fine-tuning, evaluation, answering and the server all search by
this layer.
"""

from collections.abc import Callable

import numpy as np
import tf_keras

from realm_tf.index import embed_backend
from realm_tf.index import model_files
from realm_tf.index import query_embeddings
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import realm_model


class RetrievalLayer(tf_keras.layers.Layer):
  """Finds the blocks of largest f(x,z), Section 3.3 of Guu et al. 2020.

  The layer runs eagerly, on the host, ahead of the compiled step, and has no
  gradient: f(x,z) is recomputed from the blocks that it selects.

  Args:
    embed: Maps wordpieces, int32 [B, Lx], zeros behind them, to float32 [B, D].
    searcher: Searcher over the block embeddings. A fresher index comes with a
      layer of its own.

  Call arguments:
    query_ids: Wordpieces, int32 [B, Lx], zeros behind them.
    k: Blocks of each query.

  Returns:
    `searcher.Neighbors`: block ids, int32 [B, k], and scores, float32 [B, k],
    best first; `searcher.NOT_FOUND` and -inf where the index has fewer blocks.
  """

  def __init__(
    self,
    embed: Callable[[np.ndarray], np.ndarray],
    searcher: searcher_lib.Searcher,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self._embed = embed
    # In a list: Keras would wrap, and try to track, a plain attribute.
    self._holder = [searcher]

  def over(self, searcher: searcher_lib.Searcher) -> 'RetrievalLayer':
    """Returns a layer that embeds as this one and searches otherwise."""
    return RetrievalLayer(self._embed, searcher)

  def call(self, query_ids: np.ndarray, k: int) -> searcher_lib.Neighbors:
    queries = self._embed(np.asarray(query_ids))  # [B, D]
    return searcher_lib.fill(self._holder[0].search(queries, k), k)


def over_model(
  model: realm_model.RealmModel,
  searcher: searcher_lib.Searcher,
  query_tokens: int,
  special_ids: tuple[int, int],
) -> RetrievalLayer:
  """Returns the layer that embeds queries with a model's current variables."""
  embed = query_embeddings.compile_embedding(
    model, query_tokens, special_ids, any_size=True
  )
  return RetrievalLayer(embed, searcher)


def over_index(opened: model_files.OpenModel) -> RetrievalLayer:
  """Returns the layer that searches a model's index, by its own embeddings."""
  embed = embed_backend.query_embedding(
    opened.model,
    opened.config.lengths.query_tokens,
    opened.tokenizer.special_ids,
    opened.config.index.embed_backend,
  )
  return RetrievalLayer(embed, opened.index.searcher)
