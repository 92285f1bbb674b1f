"""Scores of all spans of the read blocks -> the few that matter.

Nothing here is Python per span: a question has some 15,000.
"""

from typing import NamedTuple

import numpy as np

# Spans kept of each block. The rest is in the normalizer only: p(y|x) of an
# answer is a sum over those of its spans that are among the best ones.
NUM_SPANS = 20
# Scores below it belong to spans that do not exist (`modeling.span_reader`).
_NO_SPAN = -1e8


class Spans(NamedTuple):
  """The best spans of each block, best first.

  Attributes:
    firsts: First wordpiece in the body, int [B, K, S].
    ends: Behind the last one, int [B, K, S].
    scores: g(s), retrieval score included, float32 [B, K, S].
    exists: Whether there is such a span, bool [B, K, S].
    log_normalizers: log sum_s exp(g(s)) over all spans of all K blocks, not
      just these, float64 [B]; -inf if there is none.
  """

  firsts: np.ndarray
  ends: np.ndarray
  scores: np.ndarray
  exists: np.ndarray
  log_normalizers: np.ndarray


def best_spans(scores: np.ndarray, num_spans: int = NUM_SPANS) -> Spans:
  """Finds the best spans of each block.

  Args:
    scores: By first wordpiece and width - 1, float32 [B, K, Lz, W].
    num_spans: S at most; a short body has fewer.

  Returns:
    The spans; of equal ones, those that begin first come first.
  """
  max_width = scores.shape[-1]
  flat = scores.reshape(*scores.shape[:2], -1)  # [B, K, Lz * W]
  best = _largest(flat, min(num_spans, flat.shape[-1]))
  best_scores = np.take_along_axis(flat, best, axis=-1)
  firsts = best // max_width
  return Spans(
    firsts,
    firsts + best % max_width + 1,
    best_scores,
    best_scores > _NO_SPAN,
    _log_sum_exp(flat.reshape(len(flat), -1)),
  )


def softmax(scores: np.ndarray) -> np.ndarray:
  """Softmax over the last axis; 0 for a score of -inf, [B, K]."""
  if not np.size(scores):
    return scores
  largest = scores.max(axis=-1, keepdims=True)
  weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
  return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)


def _largest(flat, num):
  """Returns the places of the `num` largest values, largest first."""
  # A full sort would take ten times as long.
  some = np.sort(np.argpartition(-flat, num - 1, axis=-1)[..., :num], axis=-1)
  order = np.argsort(
    -np.take_along_axis(flat, some, axis=-1), axis=-1, kind='stable'
  )
  return np.take_along_axis(some, order, axis=-1)


def _log_sum_exp(scores):
  """Over the last axis and existing spans only, float64 [B]."""
  largest = scores.max(axis=-1, initial=_NO_SPAN)
  exists = largest > _NO_SPAN
  shifted = scores - np.where(exists, largest, 0.0)[:, None]
  sums = np.exp(np.where(scores > _NO_SPAN, shifted, -np.inf)).sum(
    axis=-1, dtype=np.float64
  )
  with np.errstate(divide='ignore'):
    return np.where(exists, largest, 0.0) + np.log(sums)
