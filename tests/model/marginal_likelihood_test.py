"""Tests for realm_tf.model.objectives."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.model import objectives

_FUNCTIONS = (
  ('per_query', objectives.marginal_log_likelihood),
  ('per_token', objectives.per_token_log_likelihood),
)


def _log(values):
  return tf.constant(np.log(values), tf.float32)


def _gradient(function, scores, token_log_probs, token_mask):
  with tf.GradientTape() as tape:
    tape.watch(scores)
    log_p_y = function(scores, token_log_probs, token_mask)
  return tape.gradient(log_p_y, scores)


def _slow(scores, token_log_probs, token_mask):
  """Returns Eq. 1 for one query, term by term, in float64."""
  p_z = np.exp(scores) / np.sum(np.exp(scores))
  total = 0.0
  for k, log_probs in enumerate(token_log_probs):
    product = 1.0
    for log_prob, mask in zip(log_probs, token_mask):
      product *= np.exp(log_prob) if mask else 1.0
    total += p_z[k] * product
  return np.log(total)


class MarginalLogLikelihoodTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(
    # 1/4 * 1/2 + 3/4 * 1/6 = 1/4.
    ('one_token', [1 / 4, 3 / 4], [[1 / 2], [1 / 6]], [1.0], 1 / 4),
    # 1/2 * (1/2 * 1/2) + 1/2 * (1/4 * 1/4) = 5/32; the per-token sum of the
    # TF1 release would give (1/2 * 1/2 + 1/2 * 1/4)^2 = 9/64.
    (
      'two_tokens',
      [1 / 2, 1 / 2],
      [[1 / 2, 1 / 2], [1 / 4, 1 / 4]],
      [1.0, 1.0],
      5 / 32,
    ),
    # The same as `one_token`: the second position is padding.
    (
      'padding',
      [1 / 4, 3 / 4],
      [[1 / 2, 0.9], [1 / 6, 0.9]],
      [1.0, 0.0],
      1 / 4,
    ),
    ('no_tokens', [1 / 4, 3 / 4], [[0.9], [0.9]], [0.0], 1.0),
    # p(z|x) is a softmax: scores may be shifted. 3/8 = 1/4 * 3/4 + 3/4 * 1/4.
    ('shifted', [1.0, 3.0], [[3 / 4], [1 / 4]], [1.0], 3 / 8),
  )
  def test_matches_hand_computation(self, p_z, p_y, mask, expected):
    actual = objectives.marginal_log_likelihood(
      _log([p_z]), _log([p_y]), tf.constant([mask])
    )
    self.assertAllClose(tf.exp(actual), [expected])

  def test_gradient_is_posterior_minus_prior(self):
    # Appendix A: d log p(y|x) / d f(x,z) = p(z|y,x) - p(z|x). Here
    # p(z|y,x) = [1/4 * 1/2, 3/4 * 1/6] / (1/4) = [1/2, 1/2].
    gradient = _gradient(
      objectives.marginal_log_likelihood,
      _log([[1 / 4, 3 / 4]]),
      _log([[[1 / 2], [1 / 6]]]),
      tf.constant([[1.0]]),
    )
    self.assertAllClose(gradient, [[1 / 2 - 1 / 4, 1 / 2 - 3 / 4]])

  def test_gradient_of_the_papers_example(self):
    # f = [2, 1, 0] gives p(z|x) = [0.665, 0.245, 0.090]. With p(y|z1,x) = 0.6
    # and 0.3013 for the others, p(y|x) = 0.665 * 0.6 + 0.335 * 0.3013 = 0.5, so
    # r(z1) = (0.6 / 0.5 - 1) * 0.665 = 0.133.
    scores = tf.constant([[2.0, 1.0, 0.0]])
    token_log_probs = _log([[[0.6], [0.3013], [0.3013]]])
    mask = tf.constant([[1.0]])
    function = objectives.marginal_log_likelihood
    self.assertAllClose(
      tf.exp(function(scores, token_log_probs, mask)), [0.5], atol=1e-4
    )
    gradient = _gradient(function, scores, token_log_probs, mask)
    self.assertAllClose(gradient[0, 0], 0.133, atol=5e-4)
    self.assertAllClose(tf.reduce_sum(gradient), 0.0)

  def test_one_perfect_block_gives_the_supervised_gradient(self):
    # Appendix B: the gradient equals d log p(z*|x) / d f = [0, 1, 0] - p(z|x).
    gradient = _gradient(
      objectives.marginal_log_likelihood,
      tf.constant([[2.0, 1.0, 0.0]]),
      tf.constant([[[-60.0], [0.0], [-60.0]]]),
      tf.constant([[1.0]]),
    )
    self.assertAllClose(gradient, [[-0.66524, 1 - 0.24473, -0.09003]], 1e-4)

  def test_without_tokens_the_gradient_is_zero(self):
    gradient = _gradient(
      objectives.marginal_log_likelihood,
      tf.constant([[2.0, 1.0]]),
      _log([[[0.9], [0.1]]]),
      tf.constant([[0.0]]),
    )
    self.assertAllClose(gradient, [[0.0, 0.0]])

  @parameterized.named_parameters(*_FUNCTIONS)
  def test_candidates_of_score_minus_infinity_do_not_count(self, function):
    # The same as `one_token`, plus an excluded candidate with p(y|z,x) = 1.
    scores = tf.constant([[np.log(1 / 4), np.log(3 / 4), -np.inf]], tf.float32)
    arguments = _log([[[1 / 2], [1 / 6], [1.0]]]), tf.constant([[1.0]])
    self.assertAllClose(
      tf.exp(tf.reshape(function(scores, *arguments), [1])), [1 / 4]
    )
    self.assertAllClose(
      _gradient(function, scores, *arguments), [[1 / 4, -1 / 4, 0.0]]
    )

  def test_batch_agrees_with_a_slow_loop(self):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=[4, 3]).astype(np.float32)
    token_log_probs = -rng.exponential(size=[4, 3, 2]).astype(np.float32)
    mask = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], np.float32)
    actual = objectives.marginal_log_likelihood(scores, token_log_probs, mask)
    expected = [_slow(*row) for row in zip(scores, token_log_probs, mask)]
    self.assertAllClose(actual, expected, rtol=1e-5)


class PerTokenLogLikelihoodTest(tf.test.TestCase):
  def test_sums_over_blocks_once_per_token(self):
    # [1/2 * 1/2 + 1/2 * 1/4, 1/2 * 1/8 + 1/2 * 1/4] = [3/8, 3/16].
    actual = objectives.per_token_log_likelihood(
      _log([[1 / 2, 1 / 2]]),
      _log([[[1 / 2, 1 / 8], [1 / 4, 1 / 4]]]),
      tf.ones([1, 2]),
    )
    self.assertAllClose(tf.exp(actual), [[3 / 8, 3 / 16]])

  def test_is_not_the_papers_objective(self):
    # `two_tokens` above has 5/32.
    actual = objectives.per_token_log_likelihood(
      _log([[1 / 2, 1 / 2]]),
      _log([[[1 / 2, 1 / 2], [1 / 4, 1 / 4]]]),
      tf.ones([1, 2]),
    )
    self.assertAllClose(tf.exp(tf.reduce_sum(actual)), 9 / 64)

  def test_padding_is_zero_and_has_no_gradient(self):
    scores = _log([[1 / 4, 3 / 4]])
    arguments = (
      _log([[[1 / 2, 0.9], [1 / 6, 0.1]]]),
      tf.constant([[1.0, 0.0]]),
    )
    function = objectives.per_token_log_likelihood
    self.assertAllClose(function(scores, *arguments), [[np.log(1 / 4), 0.0]])
    # The same as in test_gradient_is_posterior_minus_prior.
    self.assertAllClose(
      _gradient(function, scores, *arguments), [[1 / 4, -1 / 4]]
    )

  def test_agrees_with_the_paper_on_single_tokens(self):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=[5, 3]).astype(np.float32)
    token_log_probs = -rng.exponential(size=[5, 3, 1]).astype(np.float32)
    mask = np.ones([5, 1], np.float32)
    self.assertAllClose(
      objectives.per_token_log_likelihood(scores, token_log_probs, mask)[:, 0],
      objectives.marginal_log_likelihood(scores, token_log_probs, mask),
    )


class QueryLogLikelihoodTest(tf.test.TestCase):
  def test_multiplies_the_masked_tokens(self):
    actual = objectives.query_log_likelihood(
      _log([[[1 / 2, 1 / 4, 0.9], [1 / 3, 1 / 5, 0.9]]]),
      tf.constant([[1.0, 1.0, 0.0]]),
    )
    self.assertAllClose(tf.exp(actual), [[1 / 8, 1 / 15]])


if __name__ == '__main__':
  tf.test.main()
