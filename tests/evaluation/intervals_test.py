"""Tests for realm_tf.evaluation.intervals."""

from absl.testing import absltest
import numpy as np

from realm_tf.evaluation import intervals


class BootstrapTest(absltest.TestCase):
  def test_is_that_of_the_binomial_distribution(self):
    # Of 400 questions half are right: the deviation of the mean is
    # sqrt(1/4 / 400) = 0.025, and 95 % lie within 1.96 of them.
    values = np.repeat([[0.0], [1.0]], 200, axis=0)
    ((low, high),) = intervals.bootstrap(values, num_resamples=4000)
    self.assertAlmostEqual(low, 0.5 - 1.96 * 0.025, delta=0.004)
    self.assertAlmostEqual(high, 0.5 + 1.96 * 0.025, delta=0.004)

  def test_what_never_varies_has_no_width(self):
    ends = intervals.bootstrap(np.array([[1.0, 0.0, 0.3]] * 5))
    np.testing.assert_allclose(ends, [[1, 1], [0, 0], [0.3, 0.3]])

  def test_one_of_two_questions(self):
    # Means of 0, 1/2 and 1, with 1/4, 1/2 and 1/4: both tails are above 2.5 %.
    ends = intervals.bootstrap(np.array([[0.0], [1.0]]))
    np.testing.assert_array_equal(ends, [[0, 1]])

  def test_metrics_share_their_draws_and_the_seed_decides(self):
    values = np.random.default_rng(0).random([30, 1])
    both = intervals.bootstrap(np.hstack([values, 1 - values]))
    np.testing.assert_allclose(both[1], 1 - both[0, ::-1])
    np.testing.assert_allclose(both[:1], intervals.bootstrap(values))
    self.assertNotEqual(
      intervals.bootstrap(values, seed=1).tolist(), both[:1].tolist()
    )


if __name__ == '__main__':
  absltest.main()
