"""Tests for realm_tf.model.objectives."""

import functools

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.model import objectives

_INF = np.inf
# One definition over two sets: the spans of all read blocks, and all blocks.
_FUNCTIONS = (
  ('spans', objectives.positive_log_likelihood),
  ('early_update', objectives.positive_log_likelihood),
)


def _with_gradient(function, scores, positive):
  scores = tf.constant(scores, tf.float32)
  with tf.GradientTape() as tape:
    tape.watch(scores)
    log_likelihood = function(scores, tf.constant(positive))
  return log_likelihood, tape.gradient(log_likelihood, scores)


@parameterized.named_parameters(*_FUNCTIONS)
class SpanLikelihoodTest(tf.test.TestCase, parameterized.TestCase):
  def test_positives_share_the_probability(self, function):
    # Row 0: (2 + 4) / (1 + 2 + 3 + 4) = 6/10; row 1: 5 / (5 + 1 + 1 + 1).
    log_likelihood, gradient = _with_gradient(
      function,
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

  def test_hard_counts_the_likeliest_positive_only(self, function):
    # 4/10 is likelier than 2/10; its gradient is [0, 0, 0, 1] - p.
    log_likelihood, gradient = _with_gradient(
      functools.partial(function, hard=True),
      np.log([[1.0, 2.0, 3.0, 4.0]]),
      [[False, True, False, True]],
    )
    self.assertAllClose(tf.exp(log_likelihood), [4 / 10])
    self.assertAllClose(gradient, [[-1 / 10, -2 / 10, -3 / 10, 6 / 10]])

  def test_all_positive_is_certain(self, function):
    log_likelihood, gradient = _with_gradient(
      function, [[3.0, -2.0]], [[True, True]]
    )
    self.assertAllClose(log_likelihood, [0.0])
    self.assertAllClose(gradient, [[0.0, 0.0]])

  def test_excluded_entries_do_not_count(self, function):
    # 2 / (1 + 2): the third entry is positive, but excluded.
    log_likelihood, gradient = _with_gradient(
      function, [[0.0, np.log(2.0), -_INF]], [[False, True, True]]
    )
    self.assertAllClose(tf.exp(log_likelihood), [2 / 3])
    self.assertAllClose(gradient, [[-1 / 3, 1 / 3, 0.0]])

  def test_row_without_positive_has_no_gradient(self, function):
    log_likelihood, gradient = _with_gradient(
      function,
      # No positive; an excluded positive; all excluded.
      [[1.0, 2.0], [1.0, -_INF], [-_INF, -_INF], [np.log(3.0), 0.0]],
      [[False, False], [False, True], [True, False], [True, False]],
    )
    # The last row is not affected: 3 / (3 + 1).
    self.assertAllClose(log_likelihood, [0.0, 0.0, 0.0, np.log(3 / 4)])
    self.assertAllClose(
      gradient, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1 / 4, -1 / 4]]
    )

  def test_large_scores_do_not_overflow(self, function):
    # 1 / (1 + e^-1) = 0.7311.
    log_likelihood, _ = _with_gradient(
      function, [[1000.0, 999.0]], [[True, False]]
    )
    self.assertAllClose(tf.exp(log_likelihood), [0.7311], atol=1e-4)


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


if __name__ == '__main__':
  tf.test.main()
