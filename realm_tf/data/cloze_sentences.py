"""Takes sentences out of blocks, as queries of the Inverse Cloze Task (ICT)."""

from collections.abc import Sequence

import numpy as np

from realm_tf import config as config_lib
from realm_tf.data import block_table


def add_noise(
  ids: np.ndarray,
  rate: float,
  ordinary_ids: np.ndarray,
  rng: np.random.Generator,
  *,
  own: slice,
  size: int,
) -> np.ndarray:
  """Replaces a share `rate` of the wordpieces by random ordinary ones."""
  if not rate:
    return ids
  shape = [size, *ids.shape[1:]]
  chosen = (rng.random(shape)[own] < rate) & (ids >= ordinary_ids[0])
  noise = rng.choice(ordinary_ids, size=shape)[own]
  return np.where(chosen, noise, ids).astype(np.int32)


def drop_words(
  ids: np.ndarray,
  rate: float,
  ordinary_ids: np.ndarray,
  rng: np.random.Generator,
  *,
  own: slice,
  size: int,
) -> np.ndarray:
  """Drops a share `rate` of the wordpieces, keeps at least one, closes gaps."""
  if not rate:
    return ids
  draws = rng.random([size, *ids.shape[1:]])[own]
  is_ordinary = ids >= ordinary_ids[0]
  draws = np.where(is_ordinary, draws, -1.0)
  is_kept = (draws >= rate) | (draws == draws.max(axis=1, keepdims=True))
  kept = np.where(is_kept | ~is_ordinary, ids, 0)
  order = np.argsort(kept == 0, axis=1, kind='stable')
  return np.take_along_axis(kept, order, axis=1).astype(np.int32)


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
  ends = [table.sentence_ends(row) for row in rows]
  ends = _cut_to_embedded(titles, bodies, ends, lengths.block_tokens)
  return titles, bodies, _take_sentences(bodies, ends, draws, config)


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

  The queries are rows `own` of a batch of `size`.
  """
  queries = add_noise(
    queries, config.query_noise_rate, ordinary_ids, rng, own=own, size=size
  )
  return drop_words(
    queries, config.query_drop_rate, ordinary_ids, rng, own=own, size=size
  )


def _cut_to_embedded(
  titles: np.ndarray,
  bodies: np.ndarray,
  sentence_ends: Sequence[np.ndarray],
  block_tokens: int,
) -> list[np.ndarray]:
  """Cuts bodies in place; returns the ends of each body's whole sentences."""
  room = block_tokens - 3 - np.count_nonzero(titles, axis=1)  # [CLS], 2 [SEP].
  result = []
  for body, ends, kept in zip(bodies, sentence_ends, room, strict=True):
    body[kept:] = 0
    whole = ends[ends <= kept]
    result.append(whole if len(whole) else np.array([kept]))
  return result


def _take_sentences(
  bodies: np.ndarray,
  sentence_ends: Sequence[np.ndarray],
  draws: np.ndarray,
  config: config_lib.InverseClozeConfig,
) -> np.ndarray:
  queries = np.zeros([len(bodies), config.query_tokens - 2], np.int32)
  for query, body, ends, (where, removal) in zip(
    queries, bodies, sentence_ends, draws, strict=True
  ):
    start, end = _pick_sentence(ends, where)
    sentence = body[start:end][: len(query)]
    query[: len(sentence)] = sentence
    is_whole = end - start >= np.count_nonzero(body)
    if not is_whole and removal < config.remove_rate:
      _remove(body, start, end)
  return queries


def _remove(body: np.ndarray, start: int, end: int) -> None:
  """Cuts [start, end) out of a zero-padded body, in place."""
  rest = body[end:].copy()
  body[start:] = 0
  body[start : start + len(rest)] = rest


def _pick_sentence(sentence_ends: np.ndarray, draw: float) -> tuple[int, int]:
  i = int(draw * len(sentence_ends))
  return (int(sentence_ends[i - 1]) if i else 0), int(sentence_ends[i])
