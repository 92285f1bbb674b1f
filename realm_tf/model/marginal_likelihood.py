"""log p(y|x): the masked tokens' likelihood, summed over retrieved blocks."""

import tensorflow as tf


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
