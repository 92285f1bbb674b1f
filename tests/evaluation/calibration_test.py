"""Tests for realm_tf.evaluation.calibration."""

from absl.testing import absltest
import numpy as np

from realm_tf.evaluation import calibration

_error = calibration.expected_calibration_error


class ExpectedCalibrationErrorTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    # Bins of width 1/2. Below: 0.1, 0.3, one right of two: |1/2 - 0.2| = 0.3.
    # Above: 0.6, 0.8, 1, two right of three: |2/3 - 0.8| = 0.4 / 3.
    # (2 * 0.3 + 3 * 0.4 / 3) / 5 = 0.2.
    probabilities = np.array([0.1, 0.3, 0.6, 0.8, 1.0])
    correct = np.array([True, False, True, False, True])
    self.assertAlmostEqual(_error(probabilities, correct, num_bins=2), 0.2)

  def test_nothing_is_wrong_where_confidence_is_accuracy(self):
    self.assertAlmostEqual(
      _error(np.full(4, 0.75), np.array([True, True, True, False])), 0
    )

  def test_always_sure_and_always_wrong(self):
    self.assertEqual(_error(np.ones(3), np.zeros(3, bool)), 1.0)

  def test_there_are_15_bins(self):
    # 0.99 / 15 and 1.01 / 15 are in two bins, so their errors do not cancel.
    probabilities = np.array([0.99, 1.01]) / 15
    correct = np.array([False, True])
    expected = (0.99 / 15 + 1 - 1.01 / 15) / 2
    self.assertAlmostEqual(_error(probabilities, correct), expected)


if __name__ == '__main__':
  absltest.main()
