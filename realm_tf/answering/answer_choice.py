"""Scores of all spans of the read blocks -> the answer and the spans to show.

  scores [B, K, Lz, W] -> `best_spans` -> the S best of each block, [B, K, S]
  their scores and texts -> `choose` -> the answer, and a span of each block

Either the likeliest span is the answer, as in ORQA, or the likeliest text:
p(y|x) of Section 3.2 is a sum over the spans that match y, so a text that
several spans and blocks have may win against the best single span.

`xp` is NumPy or, in a graph, `tensorflow.experimental.numpy`: a SavedModel
chooses by the same code.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from realm_tf.objectives import exclusion
from realm_tf.text import answers

BY_SPAN, BY_TEXT = 'span', 'text'
# Spans kept of each block: the others count for the normalizer only.
NUM_SPANS = 20
NOTHING = np.float32(-np.inf)  # Score of what does not exist, from here on.


class Spans(NamedTuple):
  """The best spans of each block, best first; of equal ones the first.

  Attributes:
    firsts: First wordpiece in the body, int [B, K, S].
    lasts: Last wordpiece, int [B, K, S].
    scores: g(s), retrieval score included, float32 [B, K, S]; NOTHING if there
      is no such span.
    log_normalizers: log sum_s exp(g(s)) over all spans of all K blocks, [B];
      NOTHING if there is none.
  """

  firsts: Any
  lasts: Any
  scores: Any
  log_normalizers: Any


class Choice(NamedTuple):
  """The answer given, and the span that each block shows.

  Attributes:
    columns: Blocks in the order of showing, int [B, K]: first the block of the
      answer.
    places: Which of its S spans each of these blocks shows, int [B, K].
    exists: Whether each of these blocks has any span, bool [B, K].
    scores: Score of the best span, or log sum exp over the spans of the text
      with the largest sum, [B].
    log_sums: log sum exp over the spans of the text given, [B]: log p(y|x)
      before it is normalized.
  """

  columns: Any
  places: Any
  exists: Any
  scores: Any
  log_sums: Any


def key(text: str) -> str:
  """Returns the normal form of exact match, or the text if that is empty."""
  return answers.normalize_answer(text) or text


def best_spans(scores: np.ndarray, num_spans: int = NUM_SPANS) -> Spans:
  """Finds the best spans of each block.

  Args:
    scores: By first wordpiece and width - 1, float32 [B, K, Lz, W].
    num_spans: S at most; a short body has fewer.
  """
  width = scores.shape[-1]
  flat = scores.reshape(*scores.shape[:2], -1)  # [B, K, Lz * W]
  flat = np.where(exclusion.exists(flat), flat, NOTHING)
  num = min(num_spans, flat.shape[-1])
  # A full sort would take ten times as long.
  some = np.sort(np.argpartition(-flat, num - 1, axis=-1)[..., :num], axis=-1)
  values = np.take_along_axis(flat, some, axis=-1)
  order = np.argsort(-values, axis=-1, kind='stable')
  best = np.take_along_axis(some, order, axis=-1)
  firsts = best // width
  return Spans(
    firsts,
    firsts + best % width,
    np.take_along_axis(values, order, axis=-1),
    log_sum_exp(flat.reshape(len(flat), -1)),
  )


def choose(
  scores: Any, keys: Any, answer_by: str, xp: ModuleType = np
) -> Choice:
  """Chooses among the spans of each question; of equal ones the first wins.

  Args:
    scores: `Spans.scores`, [B, K, S]; K and S are static.
    keys: Integers that are equal where the `key`s of texts are, [B, K, S].
  """
  num_read, num_spans = scores.shape[1:]
  flat = xp.reshape(scores, [-1, num_read * num_spans])  # [B, C]
  keys = xp.reshape(keys, [-1, num_read * num_spans])
  same = keys[:, :, None] == keys[:, None, :]
  log_sums = log_sum_exp(xp.where(same, flat[:, None, :], NOTHING), xp)
  # A span that does not exist has the key of an empty text.
  log_sums = xp.where(flat > NOTHING, log_sums, NOTHING)
  by_text = answer_by == BY_TEXT
  ranked = log_sums if by_text else flat
  is_best = xp.arange(num_read * num_spans) == xp.argmax(ranked, -1)[:, None]
  given = xp.max(xp.where(is_best, keys, -1), axis=-1)  # [B]
  preferred = (keys == given[:, None]) & (flat > NOTHING) & by_text
  columns, places, exists = _shown(
    scores, xp.reshape(preferred, [-1, num_read, num_spans]), xp
  )
  return Choice(
    columns,
    places,
    exists,
    xp.max(ranked, axis=-1),
    xp.max(xp.where(is_best, log_sums, NOTHING), axis=-1),
  )


def softmax(scores: Any, xp: ModuleType = np) -> Any:
  """Returns the softmax over the last axis of [B, K]; 0 for NOTHING."""
  if not scores.shape[-1]:  # An empty corpus.
    return scores
  normalizers = log_sum_exp(scores, xp)[:, None]
  exists = normalizers > NOTHING
  return xp.exp(scores - xp.where(exists, normalizers, np.float32(0)))


def log_sum_exp(scores: Any, xp: ModuleType = np) -> Any:
  """Returns log sum exp over the last axis; NOTHING of nothing."""
  largest = xp.max(scores, axis=-1)
  largest = xp.where(largest > NOTHING, largest, np.float32(0))
  total = xp.sum(xp.exp(scores - largest[..., None]), axis=-1)
  exists = total > 0
  logs = xp.log(xp.where(exists, total, np.float32(1))) + largest
  return xp.where(exists, logs, NOTHING)


def _shown(scores: Any, preferred: Any, xp: ModuleType) -> tuple[Any, Any, Any]:
  """Returns `columns`, `places` and `exists` of `Choice`."""
  has_text = xp.any(preferred, axis=-1)  # [B, K]
  allowed = xp.where(preferred | ~has_text[..., None], scores, NOTHING)
  best = xp.max(allowed, axis=-1)
  # By text first, then by score: two stable sorts, the last one counts most.
  columns = xp.argsort(-best, axis=-1, kind='stable')
  without = xp.where(has_text, 0, 1)
  order = xp.argsort(_take(without, columns, xp), axis=-1, kind='stable')
  columns = _take(columns, order, xp)
  places = _take(xp.argmax(allowed, axis=-1), columns, xp)
  return columns, places, _take(best, columns, xp) > NOTHING


def _take(values: Any, columns: Any, xp: ModuleType) -> Any:
  return xp.take_along_axis(values, columns, axis=1)
