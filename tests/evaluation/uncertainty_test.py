"""Tests for realm_tf.evaluation.uncertainty."""

from absl.testing import absltest
import numpy as np
from scipy import stats

from realm_tf.evaluation import uncertainty

_error = uncertainty.expected_calibration_error


class BootstrapTest(absltest.TestCase):
  def test_matches_the_binomial_distribution(self):
    # Half of 400 questions are right: the mean's standard deviation is
    # sqrt(1/4 / 400) = 0.025, and 95 % lie within 1.96 of them.
    values = np.repeat([[0.0], [1.0]], 200, axis=0)
    ((low, high),) = uncertainty.bootstrap(values, num_resamples=4000)
    self.assertAlmostEqual(low, 0.5 - 1.96 * 0.025, delta=0.004)
    self.assertAlmostEqual(high, 0.5 + 1.96 * 0.025, delta=0.004)

  def test_constant_values_have_an_interval_without_width(self):
    ends = uncertainty.bootstrap(np.array([[1.0, 0.0, 0.3]] * 5))
    np.testing.assert_allclose(ends, [[1, 1], [0, 0], [0.3, 0.3]])

  def test_one_of_two_questions(self):
    # Means of 0, 1/2 and 1, with 1/4, 1/2 and 1/4: both tails are above 2.5 %.
    ends = uncertainty.bootstrap(np.array([[0.0], [1.0]]))
    np.testing.assert_array_equal(ends, [[0, 1]])

  def test_metrics_share_draws_that_depend_on_the_seed(self):
    values = np.random.default_rng(0).random([30, 1])
    both = uncertainty.bootstrap(np.hstack([values, 1 - values]))
    np.testing.assert_allclose(both[1], 1 - both[0, ::-1])
    np.testing.assert_allclose(both[:1], uncertainty.bootstrap(values))
    self.assertNotEqual(
      uncertainty.bootstrap(values, seed=1).tolist(), both[:1].tolist()
    )

  def test_agrees_with_scipy(self):
    values = np.random.default_rng(0).random([50, 3])
    expected = stats.bootstrap(
      (values,), np.mean, n_resamples=1000, method='percentile', rng=5
    ).confidence_interval
    np.testing.assert_allclose(
      uncertainty.bootstrap(values, seed=5), np.transpose(expected), rtol=1e-9
    )


class ExpectedCalibrationErrorTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    # Bins of width 1/2. Below: 0.1, 0.3, one right of two: |1/2 - 0.2| = 0.3.
    # Above: 0.6, 0.8, 1, two right of three: |2/3 - 0.8| = 0.4 / 3.
    # (2 * 0.3 + 3 * 0.4 / 3) / 5 = 0.2.
    probabilities = np.array([0.1, 0.3, 0.6, 0.8, 1.0])
    correct = np.array([True, False, True, False, True])
    self.assertAlmostEqual(_error(probabilities, correct, num_bins=2), 0.2)

  def test_no_error_if_confidence_equals_accuracy(self):
    self.assertAlmostEqual(
      _error(np.full(4, 0.75), np.array([True, True, True, False])), 0
    )

  def test_certain_and_always_wrong(self):
    self.assertEqual(_error(np.ones(3), np.zeros(3, bool)), 1.0)

  def test_there_are_15_bins(self):
    # 0.99 / 15 and 1.01 / 15 are in two bins, so their errors do not cancel.
    probabilities = np.array([0.99, 1.01]) / 15
    correct = np.array([False, True])
    expected = (0.99 / 15 + 1 - 1.01 / 15) / 2
    self.assertAlmostEqual(_error(probabilities, correct), expected)


if __name__ == '__main__':
  absltest.main()
