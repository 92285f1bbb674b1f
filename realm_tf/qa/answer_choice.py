"""Scores of all spans of the read blocks -> the answer and the spans to show.

The answer is the likeliest span, as in ORQA, or the likeliest text: p(y|x) of
Section 3.2 is a sum over the spans that match y, so a text that occurs in
several blocks may win against the best single span.

`xp` is NumPy or, in the graph of a SavedModel, `tensorflow.experimental.numpy`.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from realm_tf import interfaces
from realm_tf.text import answers

# Spans kept per block. The other spans count only for the normalizer.
NUM_SPANS = 20
NOTHING = np.float32(-np.inf)  # Score of a span or block that does not exist.


class Spans(NamedTuple):
  """The best spans of each block, best first; ties keep the body's order.

  Attributes:
    firsts: First wordpiece in the body, int [B, K, S].
    lasts: Last wordpiece, int [B, K, S].
    scores: g(s), with the retrieval score, float32 [B, K, S], or NOTHING.
    log_normalizers: log sum_s exp(g(s)) over all spans of each block, [B, K].
    log_nulls: Scores of the null spans, or NOTHING without any, [B, K].
  """

  firsts: Any
  lasts: Any
  scores: Any
  log_normalizers: Any
  log_nulls: Any


class Choice(NamedTuple):
  """The chosen answer, and the span to show of each block.

  Attributes:
    columns: Blocks in the order to show, int [B, K]; the answer's block first.
    places: Index of each block's span among its S spans, int [B, K].
    exists: Whether each block has a span, bool [B, K].
    scores: Score of the best span, or of the best text (log sum exp), [B].
    log_sums: log p(y|x) before normalization: log sum exp over the spans of the
      answer's text, [B].
  """

  columns: Any
  places: Any
  exists: Any
  scores: Any
  log_sums: Any


def key(text: str) -> str:
  """Returns exact match's normal form of a text, or the text if that is ''."""
  return answers.normalize_answer(text) or text


def best_spans(
  scores: np.ndarray, null: np.ndarray, num_spans: int = NUM_SPANS
) -> Spans:
  """Finds the `num_spans` best spans of each block; a short body has fewer.

  Args:
    scores: By first wordpiece and width - 1, float32 [B, K, Lz, W].
    null: Scores of null spans, float32 [B, K].
  """
  width = scores.shape[-1]
  flat = scores.reshape(*scores.shape[:2], -1)  # [B, K, Lz * W]
  flat = np.where(interfaces.has_score(flat), flat, NOTHING)
  num = min(num_spans, flat.shape[-1])
  # A full sort takes ten times as long.
  some = np.sort(np.argpartition(-flat, num - 1, axis=-1)[..., :num], axis=-1)
  values = np.take_along_axis(flat, some, axis=-1)
  order = np.argsort(-values, axis=-1, kind='stable')
  best = np.take_along_axis(some, order, axis=-1)
  firsts = best // width
  return Spans(
    firsts,
    firsts + best % width,
    np.take_along_axis(values, order, axis=-1),
    log_sum_exp(flat),
    np.where(interfaces.has_score(null), null, NOTHING),
  )


def reading_probabilities(spans: Spans) -> np.ndarray:
  """Returns p(y|z,x) of each span alone, [B, K, S].

  It is the span's share among the block's spans and its null span.
  """
  both = np.stack([spans.log_normalizers, spans.log_nulls], axis=-1)
  everything = log_sum_exp(both)[..., None]  # [B, K, 1]
  return np.exp(spans.scores - np.where(everything > NOTHING, everything, 0.0))


def choose(
  scores: Any, keys: Any, answer_by: str, xp: ModuleType = np
) -> Choice:
  """Chooses among the spans of each question; the first of tied spans wins.

  Args:
    scores: `Spans.scores`, [B, K, S]; K and S are static.
    keys: Integers, equal for texts of equal `key`, [B, K, S].
  """
  num_read, num_spans = scores.shape[1:]
  flat = xp.reshape(scores, [-1, num_read * num_spans])  # [B, C]
  keys = xp.reshape(keys, [-1, num_read * num_spans])
  same = keys[:, :, None] == keys[:, None, :]
  log_sums = log_sum_exp(xp.where(same, flat[:, None, :], NOTHING), xp)
  # A missing span has the key of the empty text.
  log_sums = xp.where(flat > NOTHING, log_sums, NOTHING)
  by_text = answer_by == 'text'
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
  """Returns log sum exp over the last axis; NOTHING if all scores are."""
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
  # Two stable sorts: the second, by text, has precedence over scores.
  columns = xp.argsort(-best, axis=-1, kind='stable')
  without = xp.where(has_text, 0, 1)
  order = xp.argsort(_take(without, columns, xp), axis=-1, kind='stable')
  columns = _take(columns, order, xp)
  places = _take(xp.argmax(allowed, axis=-1), columns, xp)
  return columns, places, _take(best, columns, xp) > NOTHING


def _take(values: Any, columns: Any, xp: ModuleType) -> Any:
  return xp.take_along_axis(values, columns, axis=1)
