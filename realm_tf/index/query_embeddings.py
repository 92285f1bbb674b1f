"""Embeds queries: wordpieces -> [B, D]."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from realm_tf.modeling import realm_model
from realm_tf.records import joining

# Wordpieces, int32 [B, Lx], zeros behind them -> float32 [B, D].
Embed = Callable[[np.ndarray], np.ndarray]


def compile_embedding(
  model: realm_model.RealmModel, query_tokens: int, special_ids: tuple[int, int]
) -> Embed:
  """Returns the compiled query embedder, wordpieces to embeddings.

  It reads the model's variables at each call: tuned or swapped parameters take
  effect at once.

  Args:
    model: With the EMBEDDER part.
    query_tokens: Longest [CLS] query [SEP].
    special_ids: The vocabulary's [CLS] and [SEP].
  """

  @tf.function
  def embed(query_ids):
    return model.embed_queries(
      joining.pack_longest(query_ids, None, *special_ids, query_tokens)
    )

  return lambda query_ids: embed(tf.constant(query_ids, tf.int32)).numpy()
