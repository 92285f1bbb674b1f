"""Embeds blocks of a corpus.

Batches take the blocks in order of length: each is padded only to its longest
block, and batches of short blocks have more blocks.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Optional, TypeVar

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import lean_encoder
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.records import joining
from realm_tf.records import null_block

BATCH_SIZE = 128  # Blocks of full length embedded at once.
_LENGTH_STEP = 32  # Few lengths: compiling each takes seconds.

_T = TypeVar('_T')
# (title_ids [B, Lt], body_ids [B, Lz], L) -> embeddings, float32 [B, D].
Embed = Callable[[np.ndarray, np.ndarray, int], tf.Tensor]


class _Batch(NamedTuple):
  """Blocks embedded at once, filled up to `size` with null blocks."""

  rows: np.ndarray  # Positions in `block_ids`, int64 [at most `size`].
  size: int
  length: int  # In wordpieces.


def compile_embedding(
  model: realm_model.RealmModel,
  special_ids: tuple[int, int],
  dtype: str = 'float32',
  strategy: Optional[tf.distribute.Strategy] = None,
) -> Embed:
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

  @tf.function(jit_compile=not is_tpu and lean_encoder.prefers_xla(dtype))
  def embed(titles: Any, bodies: Any, length: int) -> tf.Tensor:
    tokens = model.with_block_prompt(
      joining.pack(titles, bodies, *special_ids, length)
    )
    outputs = encode(tokens, embedder.read_positions(tokens))
    return embedder.from_outputs(outputs, tokens['input_mask'])

  return embed if strategy is None else _distribute(embed, strategy)


def embed_blocks(
  embed: Embed,
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
    ids = np.full([batch.size], null_block.ID, np.int64)
    ids[: len(batch.rows)] = block_ids[batch.rows]
    tokens = table.gather(ids, lengths.title_tokens, batch.length)
    return batch.rows, embed(*tokens, batch.length)

  if not len(block_ids):  # Embedding a null block shows D.
    nothing = _Batch(block_ids, 1, min(_LENGTH_STEP, lengths.block_tokens))
    return np.zeros([0, embed_batch(nothing)[1].shape[-1]], np.float32)
  result: Optional[np.ndarray] = None
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
    yield _Batch(order[start : start + size], size, length)
    start += size


def _distribute(embed: Embed, strategy: tf.distribute.Strategy) -> Embed:
  number = strategy.num_replicas_in_sync

  @tf.function
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
