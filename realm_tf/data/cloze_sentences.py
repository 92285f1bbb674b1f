"""Takes sentences out of blocks, as queries of the Inverse Cloze Task (ICT)."""

import numpy as np

from realm_tf import config as config_lib
from realm_tf.data import block_table


def take(
  table: block_table.BlockTable,
  rows: np.ndarray,
  draws: np.ndarray,
  config: config_lib.InverseClozeConfig,
  lengths: config_lib.LengthConfig,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Picks a sentence of each block, and removes it from most blocks.

  Args:
    rows: Block ids, int [b].
    draws: Random numbers that pick the sentence and decide on its removal, in
      [0, 1), float [b, 2].

  Returns:
    Titles int32 [b, Lt], bodies int32 [b, Lz], sentences int32 [b, Lx].
  """
  titles, bodies = table.gather(
    rows, lengths.title_tokens, lengths.block_tokens
  )
  # Bodies are cut as the embedder's input is: [CLS], 2 [SEP].
  room = lengths.block_tokens - 3 - np.count_nonzero(titles, axis=1)
  queries = np.zeros([len(bodies), config.query_tokens - 2], np.int32)
  for row, kept, body, query, (where, removal) in zip(
    rows, room, bodies, queries, draws, strict=True
  ):
    body[kept:] = 0
    ends = table.sentence_ends(row)
    ends = ends[ends <= kept]  # Of whole sentences.
    bounds = [0, *(ends if len(ends) else [kept])]
    place = int(where * (len(bounds) - 1))
    start, end = bounds[place], bounds[place + 1]
    sentence = body[start:end][: len(query)]
    query[: len(sentence)] = sentence
    is_whole = end - start >= np.count_nonzero(body)
    if not is_whole and removal < config.remove_rate:
      rest = body[end:].copy()
      body[start:] = 0
      body[start : start + len(rest)] = rest
  return titles, bodies, queries


def change(
  queries: np.ndarray,
  ordinary_ids: np.ndarray,
  config: config_lib.InverseClozeConfig,
  rng: np.random.Generator,
  *,
  own: slice,
  size: int,
) -> np.ndarray:
  """Returns the queries, int32 [b, Lx], with wordpieces replaced or dropped.

  The queries are rows `own` of a batch of `size`. A share of their wordpieces
  becomes random ordinary ones, and a share is dropped; at least one stays.
  """
  shape = [size, *queries.shape[1:]]
  if config.query_noise_rate:
    is_chosen = rng.random(shape)[own] < config.query_noise_rate
    noise = rng.choice(ordinary_ids, size=shape)[own]
    is_ordinary = queries >= ordinary_ids[0]
    queries = np.where(is_chosen & is_ordinary, noise, queries)
  if config.query_drop_rate:
    is_ordinary = queries >= ordinary_ids[0]
    draws = np.where(is_ordinary, rng.random(shape)[own], -1.0)
    is_kept = (draws >= config.query_drop_rate) | (
      draws == draws.max(axis=1, keepdims=True)
    )
    kept = np.where(is_kept | ~is_ordinary, queries, 0)
    order = np.argsort(kept == 0, axis=1, kind='stable')
    queries = np.take_along_axis(kept, order, axis=1)
  return queries.astype(np.int32)
