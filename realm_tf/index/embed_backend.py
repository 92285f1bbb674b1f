"""Chooses between TensorFlow and OpenVINO for embedding.

OpenVINO, an extra, embeds several times as many blocks a second on CPUs
(docs/performance.md). 'auto' takes OpenVINO if it is installed and there is no
accelerator.
"""

from collections.abc import Callable
import importlib.util
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.index import block_embeddings
from realm_tf.index import query_embeddings
from realm_tf.modeling import precision
from realm_tf.modeling import realm_model
from realm_tf.records import joining

# Larger calls leave the cores' caches.
_WORDPIECES_AT_ONCE = 4096


def opener(
  model: realm_model.RealmModel,
  special_ids: tuple[int, int],
  config: config_lib.IndexConfig,
  strategy: Optional[tf.distribute.Strategy] = None,
) -> Callable[[], block_embeddings.Embed]:
  """Returns a function that returns an embedder over the current variables.

  OpenVINO copies the variables: call the function again after they change. The
  call raises UserError if OpenVINO was chosen and is not installed.

  Args:
    model: Model with the EMBEDDER part, made in the strategy's scope.
    special_ids: [CLS] and [SEP].
    strategy: For TensorFlow only.
  """
  dtype = precision.choose(config.embed_dtype)
  if choose(config.embed_backend, strategy) == 'openvino':
    return lambda: openvino_embedding(model, special_ids, dtype)
  embed = block_embeddings.compile_embedding(
    model, special_ids, dtype, strategy
  )
  return lambda: embed


def choose(
  backend: str, strategy: Optional[tf.distribute.Strategy] = None
) -> str:
  """Returns 'tensorflow' or 'openvino', for `IndexConfig.embed_backend`."""
  if backend != 'auto':
    return backend
  # Binaries pass TensorFlow's default strategy where no flag chose one.
  is_alone = strategy is None or strategy.num_replicas_in_sync == 1
  has_accelerator = any(map(tf.config.list_physical_devices, ('GPU', 'TPU')))
  is_better = (
    is_alone
    and not has_accelerator
    and importlib.util.find_spec('openvino') is not None
  )
  return 'openvino' if is_better else 'tensorflow'


def openvino_embedding(
  model: realm_model.RealmModel, special_ids: tuple[int, int], dtype: str
) -> block_embeddings.Embed:
  """Returns the block embedder on OpenVINO, with the current variables."""
  embedder = model.block_embedder
  encode = _openvino_encoder(model, embedder, dtype)

  ids = tf.TensorSpec([None, None], tf.int32)
  pack = tf.function(
    lambda titles, bodies, length: model.with_block_prompt(
      joining.pack(titles, bodies, *special_ids, length)
    ),
    input_signature=[ids, ids, tf.TensorSpec([], tf.int32)],
    autograph=False,
  )

  def embed_some(tokens: dict[str, np.ndarray]) -> tf.Tensor:
    return embedder.from_outputs(encode(tokens), tokens['input_mask'])

  def embed(titles: np.ndarray, bodies: np.ndarray, length: int) -> tf.Tensor:
    packed = pack(tf.constant(titles), tf.constant(bodies), length)
    tokens = {name: ids.numpy() for name, ids in packed.items()}
    size = max(1, _WORDPIECES_AT_ONCE // length)
    return tf.concat(
      [
        embed_some({k: v[start : start + size] for k, v in tokens.items()})
        for start in range(0, len(titles), size)
      ],
      axis=0,
    )

  return embed


def query_embedding(
  model: realm_model.RealmModel,
  query_tokens: int,
  special_ids: tuple[int, int],
  backend: str,
) -> query_embeddings.Embed:
  """Returns the query embedder, in float32, with the current variables."""
  if choose(backend) != 'openvino':
    return query_embeddings.compile_embedding(
      model, query_tokens, special_ids, any_size=True
    )
  embedder = model.query_embedder
  encode = _openvino_encoder(model, embedder, 'float32')
  size = model.config.embedder_bert.hidden_size
  ids = tf.TensorSpec([None, None], tf.int32)
  # One graph for all shapes: no query waits for a compilation.
  pack = tf.function(
    lambda ids: model.with_query_prompt(
      joining.pack_longest(ids, None, *special_ids, query_tokens)
    ),
    input_signature=[ids],
    autograph=False,
  )
  head = tf.function(
    lambda mask, sequence, pooled: (
      model.score_scale
      * embedder.from_outputs(
        {'sequence_output': sequence, 'pooled_output': pooled}, mask
      )
    ),
    input_signature=[
      ids,
      tf.TensorSpec([None, None, size]),
      tf.TensorSpec([None, size]),
    ],
    autograph=False,
  )

  def embed(query_ids: np.ndarray) -> np.ndarray:
    packed = pack(tf.constant(query_ids, tf.int32))
    outputs = encode({name: ids.numpy() for name, ids in packed.items()})
    return head(
      packed['input_mask'], outputs['sequence_output'], outputs['pooled_output']
    ).numpy()

  return embed


def _openvino_encoder(
  model: realm_model.RealmModel, embedder: Any, dtype: str
) -> Callable[[dict[str, np.ndarray]], dict[str, tf.Tensor]]:
  from realm_tf.modeling import openvino_encoder  # An extra.

  return openvino_encoder.OpenvinoEncoder(
    embedder.encoder,
    model.config.embedder_bert,
    dtype,
    cls_only=not embedder.config.reads_all,
  )
