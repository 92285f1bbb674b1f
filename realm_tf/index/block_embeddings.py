"""Embeds all blocks of a corpus: block table -> [N, D].

Blocks are taken in order of length, so that a batch is padded only to the
longest of its own blocks, rounded up; for short blocks that saves most of the
work.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tqdm

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.records import joining

_LENGTH_STEP = 16  # Few different shapes, hence few traces.


# (title_ids [B, Lt], body_ids [B, Lz], L) -> embeddings, float32 [B, D].
Embed = Callable[[np.ndarray, np.ndarray, int], tf.Tensor]


def compile_embedding(
  model: realm_model.RealmModel, special_ids: tuple[int, int]
) -> Embed:
  """Returns the compiled block embedder; it reads the current variables.

  Args:
    model: With the EMBEDDER part.
    special_ids: The vocabulary's [CLS] and [SEP].
  """

  @tf.function
  def embed(titles, bodies, length):
    return model.block_embedder(
      joining.pack(titles, bodies, *special_ids, length)
    )

  return embed


def embed_blocks(
  embed: Embed,
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
  batch_size: int,
) -> np.ndarray:
  """Embeds every block.

  Args:
    embed: From `compile_embedding`.
    table: N blocks.
    lengths: `block_tokens` and `title_tokens`.
    batch_size: Blocks embedded at once.

  Returns:
    float32 [N, D]; row i belongs to block i.
  """
  title_lengths, body_lengths = table.lengths()
  totals = np.minimum(
    np.minimum(title_lengths, lengths.title_tokens) + body_lengths + 3,
    lengths.block_tokens,
  )
  # Longest first: a batch that does not fit into memory fails at once.
  order = np.argsort(-totals, kind='stable')
  result = None
  progress = tqdm.tqdm(
    total=len(order), desc='embedding blocks', unit='block', mininterval=5
  )
  for start in range(0, len(order), batch_size):
    ids = order[start : start + batch_size]
    length = min(
      lengths.block_tokens,
      -(-int(totals[ids[0]]) // _LENGTH_STEP) * _LENGTH_STEP,
    )
    padded = np.full([batch_size], block_table.NULL_BLOCK, np.int64)
    padded[: len(ids)] = ids  # One batch size, so one trace per length.
    titles, bodies = table.gather(padded, lengths.title_tokens, length)
    embeddings = embed(titles, bodies, length).numpy()[: len(ids)]
    if result is None:
      result = np.zeros([len(order), embeddings.shape[1]], np.float32)
    result[ids] = embeddings
    progress.update(len(ids))
  progress.close()
  return result
