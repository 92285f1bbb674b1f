"""Embeds blocks of a corpus and queries, by TensorFlow or OpenVINO.

Batches take the blocks in order of length: each is padded only to its longest
block, and batches of short blocks have more blocks.
"""

from collections.abc import Callable, Iterable, Iterator
import importlib.util
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import joining
from realm_tf.model import lean_encoder
from realm_tf.model import precision
from realm_tf.model import realm_model

BATCH_SIZE = 128  # Blocks of full length embedded at once.
_LENGTH_STEP = 32  # Few lengths: compiling each takes seconds.
_WORDPIECES_AT_ONCE = 4096  # Larger calls of OpenVINO leave the cores' caches.
_IDS = tf.TensorSpec([None, None], tf.int32)

_T = TypeVar('_T')
# (title_ids [B, Lt], body_ids [B, Lz], L) -> embeddings, float32 [B, D].
BlockEmbed = Callable[[np.ndarray, np.ndarray, int], tf.Tensor]


# Positions in `block_ids`, int64 [at most `size`]; the size that null blocks
# fill up to; and the length in wordpieces.
_Batch = tuple[np.ndarray, int, int]


def compile_blocks(
  model: realm_model.RealmModel,
  special_ids: tuple[int, int],
  dtype: str = 'float32',
  strategy: tf.distribute.Strategy | None = None,
) -> BlockEmbed:
  """Returns the compiled block embedder, which reads the current variables.

  Args:
    model: Model with the EMBEDDER part, made in the strategy's scope.
    special_ids: [CLS] and [SEP].
    dtype: Dtype of the encoder's matmuls: 'float32' or 'bfloat16'.
    strategy: Splits each batch over its replicas, all on this host.
  """
  embedder = model.block_embedder
  encode = lean_encoder.LeanEncoder(
    embedder.encoder, model.config.embedder_bert, dtype
  )
  # TPUStrategy compiles the whole function by itself.
  is_tpu = isinstance(strategy, tf.distribute.TPUStrategy)

  @tf.function(
    jit_compile=not is_tpu and lean_encoder.prefers_xla(dtype), autograph=False
  )
  def embed(titles: Any, bodies: Any, length: int) -> tf.Tensor:
    tokens = model.with_block_prompt(
      joining.pack(titles, bodies, *special_ids, length)
    )
    outputs = encode(tokens, embedder.read_positions(tokens))
    return embedder.from_outputs(outputs, tokens['input_mask'])

  return embed if strategy is None else _distribute(embed, strategy)


def embed_blocks(
  embed: BlockEmbed,
  table: block_table.BlockTable,
  block_ids: np.ndarray,
  lengths: config_lib.LengthConfig,
  *,
  batch_size: int = BATCH_SIZE,
  progress: Callable[[int], None] = lambda number: None,
) -> np.ndarray:
  """Returns the embeddings of `block_ids`, int64 [n], as float32 [n, D].

  Args:
    batch_size: Blocks of full length embedded at once.
    progress: Called after each batch with the number of its blocks.
  """
  block_ids = np.asarray(block_ids, np.int64)
  titles, bodies = table.lengths(block_ids)
  totals = np.minimum(
    np.minimum(titles, lengths.title_tokens) + bodies + 3, lengths.block_tokens
  )

  def embed_batch(batch: _Batch) -> tuple[np.ndarray, tf.Tensor]:
    rows, size, length = batch
    ids = np.full([size], interfaces.NULL_BLOCK, np.int64)
    ids[: len(rows)] = block_ids[rows]
    tokens = table.gather(ids, lengths.title_tokens, length)
    return rows, embed(*tokens, length)

  if not len(block_ids):  # Embedding a null block shows D.
    nothing = block_ids, 1, min(_LENGTH_STEP, lengths.block_tokens)
    return np.zeros([0, embed_batch(nothing)[1].shape[-1]], np.float32)
  result: np.ndarray | None = None
  batches = _batches(totals, lengths, batch_size)
  for rows, embeddings in _one_late(map(embed_batch, batches)):
    values = embeddings.numpy()
    if result is None:
      result = np.zeros([len(block_ids), values.shape[1]], np.float32)
    result[rows] = values[: len(rows)]
    progress(len(rows))
  return result


def full_batches(
  lengths: config_lib.LengthConfig, batch_size: int = BATCH_SIZE
) -> list[tuple[int, int]]:
  """Returns the size and length of a full batch of each length, ascending."""
  longest = lengths.block_tokens
  return [
    (batch_size * longest // length, length)
    for length in (*range(_LENGTH_STEP, longest, _LENGTH_STEP), longest)
  ]


def _one_late(items: Iterable[_T]) -> Iterator[_T]:
  """Yields each item after the next one is made.

  The host thus sends the next batch to an accelerator before it waits for the
  result of the previous one.
  """
  items = iter(items)
  waiting = next(items)
  for item in items:
    yield waiting
    waiting = item
  yield waiting


def _batches(
  totals: np.ndarray, lengths: config_lib.LengthConfig, batch_size: int
) -> Iterator[_Batch]:
  # Longest first: a batch too large for the memory fails at the start.
  order = np.argsort(-totals, kind='stable')
  # A few blocks get a small batch.
  at_most = 1 << max(len(order) - 1, 0).bit_length()
  full = full_batches(lengths, batch_size)
  start = 0
  while start < len(order):
    longest = int(totals[order[start]])
    size, length = next(each for each in full if each[1] >= longest)
    size = min(at_most, size)
    yield order[start : start + size], size, length
    start += size


def _distribute(
  embed: BlockEmbed, strategy: tf.distribute.Strategy
) -> BlockEmbed:
  number = strategy.num_replicas_in_sync

  @tf.function(autograph=False)
  def run(titles: Any, bodies: Any, length: int) -> Any:
    def embed_part(titles: tf.Tensor, bodies: tf.Tensor) -> tf.Tensor:
      part = tf.distribute.get_replica_context().replica_id_in_sync_group
      return embed(titles[part], bodies[part], length)

    # Each replica gets all wordpieces, a few bytes, and takes its part.
    return strategy.run(embed_part, args=(titles, bodies))

  def split(titles: np.ndarray, bodies: np.ndarray, length: int) -> tf.Tensor:
    size = -(-len(titles) // number)
    missing = number * size - len(titles)
    parts = (
      np.pad(ids, [(0, missing), (0, 0)]).reshape(number, size, ids.shape[1])
      for ids in (titles, bodies)
    )
    results = strategy.experimental_local_results(run(*parts, length))
    return tf.concat(results, axis=0)[: len(titles)]

  return split


def opener(
  model: realm_model.RealmModel,
  special_ids: tuple[int, int],
  config: config_lib.IndexConfig,
  strategy: tf.distribute.Strategy | None = None,
) -> Callable[[], BlockEmbed]:
  """Returns a function that returns a block embedder of the current variables.

  OpenVINO copies the variables: call the function again after they change. The
  call raises UserError if OpenVINO was chosen and is not installed.

  Args:
    model: Model with the EMBEDDER part, made in the strategy's scope.
    special_ids: [CLS] and [SEP].
    strategy: For TensorFlow only.
  """
  dtype = precision.choose(config.embed_dtype)
  if choose_backend(config.embed_backend, strategy) == 'openvino':
    return lambda: openvino_blocks(model, special_ids, dtype)
  embed = compile_blocks(model, special_ids, dtype, strategy)
  return lambda: embed


def choose_backend(
  backend: str, strategy: tf.distribute.Strategy | None = None
) -> str:
  """Returns 'tensorflow' or 'openvino', for `IndexConfig.embed_backend`.

  OpenVINO, an extra, embeds several times as many blocks a second on CPUs
  (docs/performance.md). 'auto' takes it if it is installed and there is no
  accelerator.
  """
  if backend != 'auto':
    return backend
  # Binaries pass TensorFlow's default strategy where no flag chose one.
  is_alone = strategy is None or strategy.num_replicas_in_sync == 1
  has_accelerator = any(map(tf.config.list_physical_devices, ('GPU', 'TPU')))
  is_installed = importlib.util.find_spec('openvino') is not None
  is_better = is_alone and not has_accelerator and is_installed
  return 'openvino' if is_better else 'tensorflow'


def openvino_blocks(
  model: realm_model.RealmModel, special_ids: tuple[int, int], dtype: str
) -> BlockEmbed:
  """Returns the block embedder on OpenVINO, with the current variables."""
  embedder = model.block_embedder
  encode = _openvino_encoder(model, embedder, dtype)
  pack = tf.function(
    lambda titles, bodies, length: model.with_block_prompt(
      joining.pack(titles, bodies, *special_ids, length)
    ),
    input_signature=[_IDS, _IDS, tf.TensorSpec([], tf.int32)],
    autograph=False,
  )

  def embed(titles: np.ndarray, bodies: np.ndarray, length: int) -> tf.Tensor:
    packed = pack(tf.constant(titles), tf.constant(bodies), length)
    size = max(1, _WORDPIECES_AT_ONCE // length)
    results = []
    for start in range(0, len(titles), size):
      some = {k: v[start : start + size].numpy() for k, v in packed.items()}
      results.append(embedder.from_outputs(encode(some), some['input_mask']))
    return tf.concat(results, axis=0)

  return embed


def compile_queries(
  model: realm_model.RealmModel,
  query_tokens: int,
  special_ids: tuple[int, int],
  backend: str = 'tensorflow',
) -> interfaces.Embed:
  """Returns the query embedder, in float32, which reads the current variables.

  One graph serves all shapes: no question waits for a compilation.

  Args:
    backend: As `IndexConfig.embed_backend`; OpenVINO copies the variables.
  """
  if choose_backend(backend) == 'openvino':
    return _openvino_queries(model, query_tokens, special_ids)

  @tf.function(input_signature=[_IDS], autograph=False)
  def embed(query_ids: tf.Tensor) -> tf.Tensor:
    return model.embed_queries(
      joining.pack_longest(query_ids, None, *special_ids, query_tokens)
    )

  return lambda query_ids: embed(tf.constant(query_ids, tf.int32)).numpy()


def _openvino_queries(
  model: realm_model.RealmModel, query_tokens: int, special_ids: tuple[int, int]
) -> interfaces.Embed:
  embedder = model.query_embedder
  encode = _openvino_encoder(model, embedder, 'float32')
  size = model.config.embedder_bert.hidden_size
  # One graph for all shapes: no query waits for a compilation.
  pack = tf.function(
    lambda ids: model.with_query_prompt(
      joining.pack_longest(ids, None, *special_ids, query_tokens)
    ),
    input_signature=[_IDS],
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
      *(_IDS, tf.TensorSpec([None, None, size]), tf.TensorSpec([None, size]))
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
  from realm_tf.model import openvino_encoder  # An extra.

  return openvino_encoder.OpenvinoEncoder(
    embedder.encoder,
    model.config.embedder_bert,
    dtype,
    cls_only=not embedder.config.reads_all,
  )
