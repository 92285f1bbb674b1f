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


class MarginalLogLikelihoodTest(tf.test.TestCase, parameterized.TestCase):
  def test_matches_hand_computation(self):
    p_z, p_y, mask, expected = zip(
      # 1/4 * 1/2 + 3/4 * 1/6 = 1/4; the second position is padding.
      ([1 / 4, 3 / 4], [[1 / 2, 0.9], [1 / 6, 0.9]], [1.0, 0.0], 1 / 4),
      # 1/2 * (1/2 * 1/2) + 1/2 * (1/4 * 1/4) = 5/32; the per-token sum of the
      # TF1 release would give (1/2 * 1/2 + 1/2 * 1/4)^2 = 9/64.
      ([1 / 2, 1 / 2], [[1 / 2, 1 / 2], [1 / 4, 1 / 4]], [1.0, 1.0], 5 / 32),
      ([1 / 4, 3 / 4], [[0.9, 0.9], [0.9, 0.9]], [0.0, 0.0], 1.0),
      # p(z|x) is a softmax: scores may be shifted. 3/8 = 1/4 * 3/4 + 3/4 * 1/4.
      ([1.0, 3.0], [[0.9, 3 / 4], [0.9, 1 / 4]], [0.0, 1.0], 3 / 8),
    )
    actual = objectives.marginal_log_likelihood(
      _log(p_z), _log(p_y), tf.constant(mask)
    )
    self.assertAllClose(tf.exp(actual), expected)

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

  def test_one_perfect_block_gives_the_supervised_gradient(self):
    # Appendix B: the gradient equals d log p(z*|x) / d f = [0, 1, 0] - p(z|x).
    gradient = _gradient(
      objectives.marginal_log_likelihood,
      tf.constant([[2.0, 1.0, 0.0]]),
      tf.constant([[[-60.0], [0.0], [-60.0]]]),
      tf.constant([[1.0]]),
    )
    self.assertAllClose(gradient, [[-0.66524, 1 - 0.24473, -0.09003]], 1e-4)

  @parameterized.named_parameters(*_FUNCTIONS)
  def test_candidates_of_score_minus_infinity_do_not_count(self, function):
    # 1/4 * 1/2 + 3/4 * 1/6, plus an excluded candidate with p(y|z,x) = 1.
    scores = tf.constant([[np.log(1 / 4), np.log(3 / 4), -np.inf]], tf.float32)
    arguments = _log([[[1 / 2], [1 / 6], [1.0]]]), tf.constant([[1.0]])
    self.assertAllClose(
      tf.exp(tf.reshape(function(scores, *arguments), [1])), [1 / 4]
    )
    self.assertAllClose(
      _gradient(function, scores, *arguments), [[1 / 4, -1 / 4, 0.0]]
    )


class PerTokenLogLikelihoodTest(tf.test.TestCase):
  def test_sums_over_blocks_once_per_token(self):
    # [1/2 * 1/2 + 1/2 * 1/4, 1/2 * 1/8 + 1/2 * 1/4] = [3/8, 3/16].
    actual = objectives.per_token_log_likelihood(
      _log([[1 / 2, 1 / 2]]),
      _log([[[1 / 2, 1 / 8], [1 / 4, 1 / 4]]]),
      tf.ones([1, 2]),
    )
    self.assertAllClose(tf.exp(actual), [[3 / 8, 3 / 16]])

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


_INF = np.inf


def _with_gradient(scores, positive, hard=False):
  scores = tf.constant(scores, tf.float32)
  with tf.GradientTape() as tape:
    tape.watch(scores)
    found = objectives.positive_log_likelihood(
      scores, tf.constant(positive), hard
    )
  return found, tape.gradient(found, scores)


class PositiveLogLikelihoodTest(tf.test.TestCase):
  def test_positives_share_the_probability(self):
    # Row 0: (2 + 4) / (1 + 2 + 3 + 4) = 6/10; row 1: 5 / (5 + 1 + 1 + 1).
    log_likelihood, gradient = _with_gradient(
      np.log([[1.0, 2.0, 3.0, 4.0], [5.0, 1.0, 1.0, 1.0]]),
      [[False, True, False, True], [True, False, False, False]],
    )
    self.assertAllClose(tf.exp(log_likelihood), [6 / 10, 5 / 8])
    # p(s|y) - p(s): [0, 2/6, 0, 4/6] - [1, 2, 3, 4] / 10 in row 0, and
    # [1, 0, 0, 0] - [5, 1, 1, 1] / 8 in row 1.
    self.assertAllClose(
      gradient,
      [
        [-1 / 10, 2 / 6 - 2 / 10, -3 / 10, 4 / 6 - 4 / 10],
        [3 / 8, -1 / 8, -1 / 8, -1 / 8],
      ],
    )

  def test_hard_counts_the_likeliest_positive_only(self):
    # 4/10 is likelier than 2/10; its gradient is [0, 0, 0, 1] - p.
    log_likelihood, gradient = _with_gradient(
      np.log([[1.0, 2.0, 3.0, 4.0]]), [[False, True, False, True]], hard=True
    )
    self.assertAllClose(tf.exp(log_likelihood), [4 / 10])
    self.assertAllClose(gradient, [[-1 / 10, -2 / 10, -3 / 10, 6 / 10]])

  def test_excluded_entries_do_not_count(self):
    # 2 / (1 + 2): the third entry is positive, but excluded.
    log_likelihood, gradient = _with_gradient(
      [[0.0, np.log(2.0), -_INF]], [[False, True, True]]
    )
    self.assertAllClose(tf.exp(log_likelihood), [2 / 3])
    self.assertAllClose(gradient, [[-1 / 3, 1 / 3, 0.0]])

  def test_row_without_positive_has_no_gradient(self):
    log_likelihood, gradient = _with_gradient(
      # No positive; an excluded positive; all excluded.
      [[1.0, 2.0], [1.0, -_INF], [-_INF, -_INF], [np.log(3.0), 0.0]],
      [[False, False], [False, True], [True, False], [True, False]],
    )
    # The last row is not affected: 3 / (3 + 1).
    self.assertAllClose(log_likelihood, [0.0, 0.0, 0.0, np.log(3 / 4)])
    self.assertAllClose(
      gradient, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1 / 4, -1 / 4]]
    )


class NullSpansTest(tf.test.TestCase):
  def test_null_spans_answer_impossible_questions(self):
    # Spans of 1, 2 and null spans of 3, 4: sums of 10.
    spans = tf.constant(np.log([[1.0, 2.0]] * 2), tf.float32)
    null = tf.constant(np.log([[3.0, 4.0]] * 2), tf.float32)
    with tf.GradientTape() as tape:
      tape.watch([spans, null])
      found = objectives.positive_log_likelihood(
        *objectives.with_null_spans(
          spans,
          null,
          tf.constant([[False, True], [False, False]]),
          tf.constant([False, True]),
        )
      )
    self.assertAllClose(tf.exp(found), [2 / 10, 7 / 10])
    # p(s|y) - p(s).
    of_spans, of_null = tape.gradient(found, [spans, null])
    self.assertAllClose(of_spans, [[-1 / 10, 8 / 10], [-1 / 10, -2 / 10]])
    self.assertAllClose(
      of_null, [[-3 / 10, -4 / 10], [3 / 7 - 3 / 10, 4 / 7 - 4 / 10]]
    )


class PerBlockTest(tf.test.TestCase):
  def test_each_block_has_its_answer_or_its_null(self):
    spans = tf.math.log([[[1.0, 2.0], [3.0, 1.0], [5.0, 5.0]]])
    null = tf.math.log([[1.0, 4.0, 2.0]])
    is_answer = tf.constant([[[False, True], [False, False], [False, False]]])
    with tf.GradientTape() as tape:
      tape.watch([spans, null])
      found = objectives.per_block_log_likelihood(
        spans, null, is_answer, tf.constant([[True, True, False]])
      )
    # 2 of 1 + 2 + 1 in the first, the null's 4 of 3 + 1 + 4 in the second.
    self.assertAllClose(found, [(np.log(2 / 4) + np.log(4 / 8)) / 2])
    of_spans, of_null = tape.gradient(found, [spans, null])
    # Half of p(s|y) - p(s); nothing where the label is unknown.
    self.assertAllClose(
      of_spans, [[[-1 / 8, 2 / 8], [-3 / 16, -1 / 16], [0, 0]]]
    )
    self.assertAllClose(of_null, [[-1 / 8, 4 / 16, 0]])

  def test_no_block_is_known(self):
    found = objectives.per_block_log_likelihood(
      tf.zeros([1, 1, 2]),
      tf.zeros([1, 1]),
      tf.zeros([1, 1, 2], tf.bool),
      tf.constant([[False]]),
    )
    self.assertAllEqual(found, [0.0])


# Scores f(x_b, z_b'): query 0 has [log 2, log 3], query 1 has [log 1, log 4].
_QUERIES = tf.constant([[1.0, 0.0], [0.0, 1.0]])
_BLOCKS = tf.constant([[np.log(2), 0.0], [np.log(3), np.log(4)]], tf.float32)


class InverseClozeTest(tf.test.TestCase):
  def test_normalizes_over_the_blocks(self):
    # 2 / (2 + 3) and 4 / (1 + 4); over the queries it would be 2/3 and 4/7.
    actual = objectives.in_batch_log_likelihood(_QUERIES, _BLOCKS)
    self.assertAllClose(tf.exp(actual), [2 / 5, 4 / 5])

  def test_gradient_pulls_to_the_own_block(self):
    # d log p(z_b|x_b) / d f(x_b, z_b') = 1[b = b'] - p(z_b'|x_b); query b's
    # gradient is the sum over b' of this factor times z_b': 3/5 (z_0 - z_1) for
    # query 0 and 1/5 (z_1 - z_0) for query 1.
    with tf.GradientTape() as tape:
      tape.watch(_QUERIES)
      value = objectives.in_batch_log_likelihood(_QUERIES, _BLOCKS)
    difference = (_BLOCKS[0] - _BLOCKS[1]).numpy()
    self.assertAllClose(
      tape.gradient(value, _QUERIES), [3 / 5 * difference, -1 / 5 * difference]
    )

  def test_a_part_of_the_queries_finds_its_own_blocks(self):
    # Query 1 alone: its block is the second of both, 4 / (1 + 4).
    part = _QUERIES[1:], _BLOCKS, 1
    actual = objectives.in_batch_log_likelihood(*part)
    self.assertAllClose(tf.exp(actual), [4 / 5])
    self.assertAllEqual(objectives.in_batch_accuracy(*part), [1.0])
    # With `first` = 0 its block is the first: 1 / (1 + 4).
    actual = objectives.in_batch_log_likelihood(_QUERIES[1:], _BLOCKS)
    self.assertAllClose(tf.exp(actual), [1 / 5])

  def test_excluded_blocks_do_not_count(self):
    # Query 0 has 2 / (2 + 3) over both blocks, and 2 / 2 without block 1.
    is_compared = tf.constant([[True, False], [True, True]])
    with tf.GradientTape() as tape:
      tape.watch(_BLOCKS)
      value = objectives.in_batch_log_likelihood(
        _QUERIES, _BLOCKS, is_compared=is_compared
      )
    self.assertAllClose(tf.exp(value), [1.0, 4 / 5])
    # The formula above with query 1 alone: -1/5 and 1/5 times x_1.
    self.assertAllClose(
      tape.gradient(value, _BLOCKS), [[0.0, -1 / 5], [0.0, 1 / 5]]
    )
    self.assertAllEqual(
      objectives.in_batch_accuracy(_QUERIES, _BLOCKS, is_compared=is_compared),
      [1.0, 1.0],
    )


class RetrievalUtilityTest(tf.test.TestCase):
  def test_block_utility_compares_with_the_null_block(self):
    # Row 0: 1/2 is 4 times the null block's 1/8, and 1/16 is half of it.
    actual = objectives.block_utility(
      _log([[1 / 8, 1 / 2, 1 / 16], [1 / 3, 1 / 3, 2 / 3]])
    )
    self.assertAllClose(tf.exp(actual), [[1.0, 4.0, 1 / 2], [1.0, 1.0, 2.0]])

  def test_marginal_utility_compares_the_sum_with_the_null_block(self):
    # log 1/4 - log 1/8 = log 2 and log 1/9 - log 1/3 = log 1/3.
    actual = objectives.marginal_utility(
      _log([1 / 4, 1 / 9]), _log([[1 / 8, 1 / 2, 1.0], [1 / 3, 1 / 3, 1.0]])
    )
    self.assertAllClose(tf.exp(actual), [2.0, 1 / 3])


if __name__ == '__main__':
  tf.test.main()
