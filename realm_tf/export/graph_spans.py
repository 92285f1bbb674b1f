"""Span scores -> which answer is given and which span of each block is shown.

`answering.span_ranking` and `answering.answer_choice` as tensor functions, for
a graph; the tests hold both to the same answers.
"""

from typing import NamedTuple

import tensorflow as tf

from realm_tf.answering import answer_choice
from realm_tf.answering import span_ranking

_NO_SPAN = -1e8  # Scores below it belong to spans that do not exist.


class Spans(NamedTuple):
  """The best S spans of each block, best first, by wordpieces of the body.

  Attributes:
    firsts: First wordpiece, int32 [B, K, S].
    lasts: Last wordpiece, int32 [B, K, S].
    scores: g(s), float32 [B, K, S]; -inf where there is no such span.
    log_normalizers: log sum exp of g over all spans, float32 [B].
  """

  firsts: tf.Tensor
  lasts: tf.Tensor
  scores: tf.Tensor
  log_normalizers: tf.Tensor


class Choice(NamedTuple):
  """The answer given.

  Attributes:
    columns: Blocks in the order in which they are shown, int32 [B, K].
    places: Which of its S spans each of them shows, int32 [B, K].
    exists: Whether such a block has any span, bool [B, K].
    scores: Of the best span, or of the text with the largest sum, float32 [B].
    log_sums: log sum exp over the spans of the text given, float32 [B].
  """

  columns: tf.Tensor
  places: tf.Tensor
  exists: tf.Tensor
  scores: tf.Tensor
  log_sums: tf.Tensor


def best_spans(scores: tf.Tensor) -> Spans:
  """Returns the best spans of each block; of equal ones the first.

  Args:
    scores: By first wordpiece and width - 1, float32 [B, K, Lz, W]; K and W
      are static.
  """
  num_read, width = scores.shape[1], scores.shape[3]
  shape = tf.shape(scores)
  flat = tf.reshape(scores, [shape[0], num_read, shape[2] * width])
  flat = tf.where(flat > _NO_SPAN, flat, -float('inf'))
  number = tf.minimum(span_ranking.NUM_SPANS, tf.shape(flat)[2])
  values, places = tf.math.top_k(flat, number)
  firsts = places // width
  lasts = firsts + places % width
  return Spans(firsts, lasts, values, _log_sum_exp(flat, axis=[1, 2]))


def choose(scores: tf.Tensor, keys: tf.Tensor, answer_by: str) -> Choice:
  """Chooses as `answer_choice.choose` does.

  Args:
    scores: Of `Spans`, float32 [B, K, S].
    keys: What is compared of the spans' texts, string [B, K, S].
    answer_by: `answer_choice.BY_SPAN` or `BY_TEXT`.
  """
  shape = tf.shape(scores)
  flat = tf.reshape(scores, [shape[0], shape[1] * shape[2]])  # [B, C]
  keys = tf.reshape(keys, tf.shape(flat))
  same = keys[:, :, None] == keys[:, None, :]  # [B, C, C]
  log_sums = _log_sum_exp(tf.where(same, flat[:, None, :], -float('inf')), -1)
  # A span that does not exist has a key too, that of an empty text.
  log_sums = tf.where(flat > -float('inf'), log_sums, -float('inf'))
  by_text = answer_by == answer_choice.BY_TEXT
  ranked = log_sums if by_text else flat
  best = tf.argmax(ranked, axis=-1, output_type=tf.int32)  # [B]
  preferred = tf.gather(same, best, batch_dims=1)  # [B, C]
  if not by_text:
    preferred = tf.zeros_like(preferred)
  columns, places, exists = _shown(scores, tf.reshape(preferred, shape))
  return Choice(
    columns,
    places,
    exists,
    tf.gather(ranked, best, batch_dims=1),
    tf.gather(log_sums, best, batch_dims=1),
  )


def softmax(scores: tf.Tensor) -> tf.Tensor:
  """Softmax over the last axis; 0 for a score of -inf, float32 [B, K]."""
  largest = tf.reduce_max(scores, axis=-1, keepdims=True)
  weights = tf.exp(scores - _finite(largest))
  total = tf.reduce_sum(weights, axis=-1, keepdims=True)
  return weights / tf.maximum(total, 1e-30)


def _shown(scores, preferred):
  """Returns `columns`, `places` and `exists` of `Choice`."""
  preferred &= scores > -float('inf')
  has_text = tf.reduce_any(preferred, axis=-1)  # [B, K]
  allowed = preferred | ~has_text[:, :, None]
  allowed_scores = tf.where(allowed, scores, -float('inf'))
  places = tf.argmax(allowed_scores, axis=-1, output_type=tf.int32)
  best = tf.reduce_max(allowed_scores, axis=-1)
  # By text first, then by score: two stable sorts, the last one counts most.
  columns = tf.argsort(best, direction='DESCENDING', stable=True)
  has_text = tf.cast(tf.gather(has_text, columns, batch_dims=1), tf.int32)
  order = tf.argsort(has_text, direction='DESCENDING', stable=True)
  columns = tf.gather(columns, order, batch_dims=1)
  best = tf.gather(best, columns, batch_dims=1)
  places = tf.gather(places, columns, batch_dims=1)
  return columns, places, best > -float('inf')


def _log_sum_exp(scores, axis):
  """-inf of nothing."""
  largest = tf.reduce_max(scores, axis=axis, keepdims=True)
  largest = _finite(largest)
  total = tf.reduce_sum(tf.exp(scores - largest), axis=axis)
  return tf.math.log(total) + tf.reshape(largest, tf.shape(total))


def _finite(scores):
  return tf.where(scores > -float('inf'), scores, 0.0)
