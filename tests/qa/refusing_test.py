"""Tests for realm_tf.qa.refusing."""

from absl.testing import absltest
import numpy as np
from sklearn import metrics as sklearn_metrics

from realm_tf.qa import refusing


def _rated(*rows):
  """Each row: probability, right, impossible, refused."""
  return refusing.Rated(*map(np.array, zip(*rows)))


_error = refusing.expected_calibration_error
# By probability: right, right, wrong, right, impossible (wrong).
_FIVE = _rated(
  (0.5, False, False, False),
  (0.9, True, False, False),
  (0.7, True, False, False),
  (0.1, False, True, True),
  (0.3, True, False, True),
)


class CurveTest(absltest.TestCase):
  def test_risk_is_the_share_of_wrong_answers_given(self):
    coverage, risk = refusing.curve(_FIVE)
    np.testing.assert_allclose(coverage, [0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(risk, [0, 0, 0, 1 / 3, 1 / 4, 2 / 5])

  def test_equal_probabilities_are_answered_together(self):
    rows = [(0.5, right, False, False) for right in (True, False, False)]
    coverage, risk = refusing.curve(_rated((0.9, True, False, False), *rows))
    np.testing.assert_allclose(coverage, [0, 1 / 4, 1])
    np.testing.assert_allclose(risk, [0, 0, 1 / 2])

  def test_points_keep_both_ends_of_a_long_curve(self):
    rng = np.random.default_rng(0)
    rows = [(p, p > 0.5, False, False) for p in rng.random(1000)]
    points = refusing.points(_rated(*rows))
    self.assertLen(points, 200)
    self.assertEqual(points[0], {'coverage': 0.0, 'risk': 0.0})
    self.assertEqual(points[-1]['coverage'], 1.0)


class MeasureTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    found = refusing.measure(_FIVE)
    # 80 % of the answers are right until 40 % are given, and no later than at
    # 80 %, where 75 % are.
    expected = {
      'num_impossible': 1,
      'answered': 60.0,
      'exact_match_answered': 100 * 2 / 3,
      'coverage@80': 40.0,
      'coverage@90': 40.0,
      # Trapezoids of width 0.2.
      'risk_coverage_area': 100 * 0.2 * (1 / 6 + 7 / 24 + 13 / 40),
      # All five are in bins of their own.
      'expected_calibration_error': 100 * (0.5 + 0.1 + 0.3 + 0.1 + 0.7) / 5,
      'refused_answerable': 25.0,
      'refused_impossible': 100.0,
      'auroc': 100.0,
    }
    self.assertEqual(found.keys(), expected.keys())
    for name, value in expected.items():
      self.assertAlmostEqual(found[name], value, msg=name)

  def test_one_kind_of_question_has_no_auroc(self):
    possible = refusing.measure(_rated((0.5, True, False, False)))
    self.assertNotIn('auroc', possible)
    self.assertNotIn('refused_impossible', possible)
    impossible = refusing.measure(_rated((0.5, False, True, True)))
    self.assertNotIn('refused_answerable', impossible)
    self.assertEqual(impossible['exact_match_answered'], 0.0)

  def test_auroc_agrees_with_scikit_learn(self):
    rng = np.random.default_rng(0)
    rows = [
      (p, False, bool(i % 3), False)
      for i, p in enumerate(rng.integers(0, 20, 200) / 20)
    ]
    rated = _rated(*rows)
    expected = sklearn_metrics.roc_auc_score(
      ~rated.is_impossible, rated.probability
    )
    self.assertAlmostEqual(refusing.measure(rated)['auroc'], 100 * expected)

  def test_sets_are_compared_with_all_answerable_questions(self):
    answerable = _rated((0.9, True, False, False), (0.4, False, False, True))
    impossible = _rated((0.6, False, True, False))
    found = refusing.measure_sets({'test': answerable, 'missing': impossible})
    self.assertEqual(found['num_questions'], 3)
    self.assertEqual(found['auroc'], 50.0)  # Above 0.4, below 0.9.
    self.assertEqual(found['sets']['missing']['auroc'], 50.0)
    self.assertNotIn('auroc', found['sets']['test'])
    self.assertEqual(found['sets']['test']['answered'], 50.0)


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
