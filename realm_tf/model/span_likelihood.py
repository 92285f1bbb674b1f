"""log p(y|x) of an answer that is a span of a retrieved block."""

import tensorflow as tf

from realm_tf.model import exclusion


def span_log_likelihood(
  span_scores: tf.Tensor, is_answer: tf.Tensor, hard: bool = False
) -> tf.Tensor:
  """Returns the marginal log-likelihood of the answer's spans, float32 [B].

  Section 3.2 of Guu et al. 2020, normalized as in ORQA over the spans of all
  read blocks jointly:

    log p(y|x) = log sum_{s in S(y)} exp(g(s)) - log sum_s exp(g(s))

  where g(s) is the reader's span score plus the block's retrieval score.

  Args:
    span_scores: g(s), float32 [B, S]; -inf or `NO_SCORE` excludes a span.
    is_answer: Whether the span is in S(y), bool [B, S]. A question without any
      gets 0.0, so it has no gradient.
    hard: Whether only the likeliest span counts, log max_{s in S(y)} p(s):
      HardEM (Min et al. 2019), for answers with irrelevant occurrences.
  """
  return _masked_log_likelihood(span_scores, is_answer, hard)


def with_null_spans(
  span_scores: tf.Tensor,
  null_scores: tf.Tensor,
  is_answer: tf.Tensor,
  is_impossible: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Appends the null spans of K blocks, which answer an impossible question.

  A shared softmax of blocks with a no-answer option (Clark and Gardner 2018,
  https://arxiv.org/abs/1710.10723, Section 3); with BERT, the null span of
  SQuAD 2.0's readers (Devlin et al. 2019, Section 4.3).

  Args:
    span_scores: g(s), float32 [B, S].
    null_scores: g of each block's null span, float32 [B, K].
    is_answer: bool [B, S].
    is_impossible: bool [B].

  Returns:
    Scores and labels of the S + K spans, for `span_log_likelihood`.
  """
  nulls = tf.ones_like(null_scores, tf.bool) & is_impossible[:, None]
  return (
    tf.concat([span_scores, null_scores], axis=-1),
    tf.concat([is_answer, nulls], axis=-1),
  )


def early_update_log_likelihood(
  retrieval_scores: tf.Tensor, has_answer: tf.Tensor, hard: bool = False
) -> tf.Tensor:
  """Returns log sum_z p(z|x) over the blocks with an answer, float32 [B].

  ORQA's "early update" (Lee et al. 2019, Section 5), which reaches many more
  blocks than the reader can read.

  Args:
    retrieval_scores: f(x,z), float32 [B, N]; -inf or `NO_SCORE` excludes a
      block.
    has_answer: Whether a block has an answer, bool [B, N]. A question without
      any gets 0.0.
    hard: Whether only the likeliest of these blocks counts.
  """
  return _masked_log_likelihood(retrieval_scores, has_answer, hard)


def _masked_log_likelihood(
  scores: tf.Tensor, positive: tf.Tensor, hard: bool
) -> tf.Tensor:
  scores = tf.maximum(tf.cast(scores, tf.float32), exclusion.NO_SCORE)
  positive = tf.logical_and(positive, exclusion.exists(scores))
  join = tf.reduce_max if hard else tf.reduce_logsumexp
  numerator = join(tf.where(positive, scores, exclusion.NO_SCORE), axis=-1)
  log_likelihood = numerator - tf.reduce_logsumexp(scores, axis=-1)
  return tf.where(tf.reduce_any(positive, axis=-1), log_likelihood, 0.0)
