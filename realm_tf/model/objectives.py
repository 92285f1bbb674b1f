"""The paper's objectives: likelihoods of masked tokens, spans and blocks.

log p(y|x) sums over retrieved blocks. Retrieval utility is the log-likelihood
that a block adds to the null block.
"""

import tensorflow as tf

from realm_tf import interfaces

NULL_POSITION = 0  # The null block is always the first candidate.


def marginal_log_likelihood(
  retrieval_scores: tf.Tensor, token_log_probs: tf.Tensor, token_mask: tf.Tensor
) -> tf.Tensor:
  """Returns log p(y|x), float32 [B]; 0.0 for a query without masked tokens.

  Eq. 1 of Guu et al. 2020 (https://arxiv.org/abs/2002.08909), with the sum over
  the corpus cut to the K candidates (Section 3.3):

    log p(y|x) = log sum_z p(z|x) prod_j p(y_j|z,x),   p(z|x) = softmax_z f(x,z)

  Its gradient with respect to f(x,z) is p(z|y,x) - p(z|x) (Appendix A).

  Args:
    retrieval_scores: f(x,z), float32 [B, K].
    token_log_probs: log p(y_j|z,x) of the gold tokens, float32 [B, K, M].
      Padded positions may hold any finite value.
    token_mask: 1.0 at a masked token, 0.0 at padding, float32 [B, M].
  """
  log_p_z = tf.nn.log_softmax(retrieval_scores, axis=-1)  # [B, K]
  log_p_y = query_log_likelihood(token_log_probs, token_mask)  # [B, K]
  return tf.reduce_logsumexp(log_p_z + log_p_y, axis=-1)  # [B]


def query_log_likelihood(
  token_log_probs: tf.Tensor, token_mask: tf.Tensor
) -> tf.Tensor:
  """Returns log p(y|z,x) = sum_j log p(y_j|z,x), float32 [B, K]."""
  return tf.einsum('bkm,bm->bk', token_log_probs, token_mask)


def per_token_log_likelihood(
  retrieval_scores: tf.Tensor, token_log_probs: tf.Tensor, token_mask: tf.Tensor
) -> tf.Tensor:
  """Returns log sum_z p(z|x) p(y_j|z,x), float32 [B, M]; 0.0 at padding.

  The authors' TF1 release sums over z once per masked token, not once per
  query; for one masked token the two agree. Its loss is minus the mean over all
  masked tokens of the batch.
  """
  log_p_z = tf.nn.log_softmax(retrieval_scores, axis=-1)[:, :, None]
  marginal = tf.reduce_logsumexp(log_p_z + token_log_probs, axis=1)  # [B, M]
  return marginal * token_mask


def positive_log_likelihood(
  scores: tf.Tensor, is_positive: tf.Tensor, hard: bool = False
) -> tf.Tensor:
  """Returns the marginal log-likelihood of the positives, float32 [B].

  Of the answer's spans, Section 3.2 of Guu et al. 2020, normalized as in ORQA
  over the spans of all read blocks jointly:

    log p(y|x) = log sum_{s in S(y)} exp(g(s)) - log sum_s exp(g(s))

  where g(s) is the reader's span score plus the block's retrieval score. Of
  searched blocks with an answer, f(x,z) in place of g(s), it is ORQA's "early
  update" (Lee et al. 2019, Section 5), which reaches many more blocks than the
  reader can read.

  Args:
    scores: float32 [B, S]; -inf or `NO_SCORE` excludes a span or block.
    is_positive: bool [B, S]. A question without any gets 0.0, so it has no
      gradient.
    hard: Whether only the likeliest positive counts, log max_{s in S(y)} p(s):
      HardEM (Min et al. 2019), for answers with irrelevant occurrences.
  """
  scores = tf.maximum(tf.cast(scores, tf.float32), interfaces.NO_SCORE)
  is_positive = tf.logical_and(is_positive, interfaces.has_score(scores))
  join = tf.reduce_max if hard else tf.reduce_logsumexp
  numerator = join(tf.where(is_positive, scores, interfaces.NO_SCORE), axis=-1)
  log_likelihood = numerator - tf.reduce_logsumexp(scores, axis=-1)
  return tf.where(tf.reduce_any(is_positive, axis=-1), log_likelihood, 0.0)


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
    Scores and labels of the S + K spans, for `positive_log_likelihood`.
  """
  nulls = tf.ones_like(null_scores, tf.bool) & is_impossible[:, None]
  return (
    tf.concat([span_scores, null_scores], axis=-1),
    tf.concat([is_answer, nulls], axis=-1),
  )


def per_block_log_likelihood(
  span_scores: tf.Tensor,
  null_scores: tf.Tensor,
  is_answer: tf.Tensor,
  is_compared: tf.Tensor,
) -> tf.Tensor:
  """Returns the mean of log p(y_z|z,x) over the blocks z, float32 [B].

  y_z are the answer's spans in z, or z's null span without any: each block is
  a paragraph of SQuAD 2.0 (Devlin et al. 2019, Section 4.3). Retrieval has no
  part in it.

  Args:
    span_scores: float32 [B, K, S].
    null_scores: float32 [B, K].
    is_answer: bool [B, K, S].
    is_compared: Blocks with a known label, bool [B, K].
  """
  scores = tf.concat([span_scores, null_scores[..., None]], axis=-1)
  lacks = ~tf.reduce_any(is_answer, axis=-1, keepdims=True)
  positive = tf.concat([is_answer, lacks], axis=-1)
  width = tf.shape(scores)[-1]
  found = positive_log_likelihood(
    tf.reshape(scores, [-1, width]), tf.reshape(positive, [-1, width])
  )
  known = tf.cast(is_compared, tf.float32)
  total = tf.reduce_sum(tf.reshape(found, tf.shape(known)) * known, axis=-1)
  return tf.math.divide_no_nan(total, tf.reduce_sum(known, axis=-1))


def in_batch_log_likelihood(
  query_embeddings: tf.Tensor,
  block_embeddings: tf.Tensor,
  first: int | tf.Tensor = 0,
  is_compared: tf.Tensor | None = None,
) -> tf.Tensor:
  """Returns log p(z|x) of each query's own block in the batch, float32 [B].

  Lee et al. 2019, Eq. 9 (https://arxiv.org/abs/1906.00300), with the blocks of
  the batch in place of the corpus:

    p(z_b|x_b) = exp(f(x_b, z_b)) / sum_{b'} exp(f(x_b, z_b'))

  Args:
    query_embeddings: A part of the batch, float32 [B, D].
    block_embeddings: The whole batch, float32 [N, D]; query b's own block is
      row `first` + b.
    is_compared: Whether the sum includes block b', bool [B, N]; false for a
      block that may be right too, such as a repetition. By default all.
  """
  scores, own = _scores_and_own(
    query_embeddings, block_embeddings, first, is_compared
  )
  return -tf.nn.sparse_softmax_cross_entropy_with_logits(own, scores)


def in_batch_accuracy(
  query_embeddings: tf.Tensor,
  block_embeddings: tf.Tensor,
  first: int | tf.Tensor = 0,
  is_compared: tf.Tensor | None = None,
) -> tf.Tensor:
  """Returns 1.0 where a query scores its own block highest, float32 [B]."""
  scores, own = _scores_and_own(
    query_embeddings, block_embeddings, first, is_compared
  )
  best = tf.argmax(scores, axis=-1, output_type=tf.int32)
  return tf.cast(tf.equal(best, own), tf.float32)


def _scores_and_own(
  queries: tf.Tensor,
  blocks: tf.Tensor,
  first: int | tf.Tensor,
  is_compared: tf.Tensor | None,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns f(x,z), float32 [B, N], and each query's own row z, int32 [B]."""
  scores = tf.matmul(queries, blocks, transpose_b=True)
  if is_compared is not None:
    scores = tf.where(is_compared, scores, interfaces.NO_SCORE)
  return scores, first + tf.range(tf.shape(queries)[0])


def block_utility(log_p_y_given_z: tf.Tensor) -> tf.Tensor:
  """Returns RU(z|x) = log p(y|z,x) - log p(y|null,x), float32 [B, K].

  Appendix D of Guu et al. 2020; the null block's utility is 0.
  """
  null = log_p_y_given_z[:, NULL_POSITION : NULL_POSITION + 1]  # [B, 1]
  return log_p_y_given_z - null


def marginal_utility(
  log_p_y: tf.Tensor, log_p_y_given_z: tf.Tensor
) -> tf.Tensor:
  """Returns log p(y|x) - log p(y|null,x), float32 [B].

  The authors' release calls it retrieval utility and selects models by it.
  """
  return log_p_y - log_p_y_given_z[:, NULL_POSITION]
