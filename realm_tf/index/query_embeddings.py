"""Embeds queries."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from realm_tf.modeling import realm_model
from realm_tf.records import joining

# Wordpieces, int32 [B, Lx], padded with zeros -> float32 [B, D].
Embed = Callable[[np.ndarray], np.ndarray]


def compile_embedding(
  model: realm_model.RealmModel,
  query_tokens: int,
  special_ids: tuple[int, int],
  *,
  any_size: bool = False,
) -> Embed:
  """Returns the compiled query embedder, which reads the current variables.

  Args:
    any_size: Whether one graph serves all shapes, so that no question waits for
      a compilation. By default each shape has its own: accelerators need it.
  """
  signature = [tf.TensorSpec([None, None], tf.int32)] if any_size else None

  @tf.function(input_signature=signature, autograph=False)
  def embed(query_ids: tf.Tensor) -> tf.Tensor:
    return model.embed_queries(
      joining.pack_longest(query_ids, None, *special_ids, query_tokens)
    )

  return lambda query_ids: embed(tf.constant(query_ids, tf.int32)).numpy()
