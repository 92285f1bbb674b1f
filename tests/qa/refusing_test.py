"""Tests for realm_tf.qa.refusing."""

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import calibration as calibration_lib
from realm_tf.qa import refusing


def _rated(*rows):
  """Each row: probability, right, impossible, refused."""
  return refusing.Rated(*map(np.array, zip(*rows)))


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

  def test_sets_are_compared_with_all_answerable_questions(self):
    answerable = _rated((0.9, True, False, False), (0.4, False, False, True))
    impossible = _rated((0.6, False, True, False))
    found = refusing.measure_sets({'test': answerable, 'missing': impossible})
    self.assertEqual(found['num_questions'], 3)
    self.assertEqual(found['auroc'], 50.0)  # Above 0.4, below 0.9.
    self.assertEqual(found['sets']['missing']['auroc'], 50.0)
    self.assertNotIn('auroc', found['sets']['test'])
    self.assertEqual(found['sets']['test']['answered'], 50.0)


def _asked(number):
  """Returns answers whose null signal tells how probably each is right."""
  rng = np.random.default_rng(0)
  answers, questions = [], []
  for null in rng.normal(scale=3, size=number):
    is_right = rng.random() < 1 / (1 + np.exp(1.5 * null - 1))
    signals = calibration_lib.Signals(2.0, float(null), rng.normal())
    answers.append(answer_lib.Answer('', 'a', 0.0, [], signals=signals))
    questions.append(
      questions_lib.Question('', ('a',))
      if is_right
      else questions_lib.Question('', (), is_impossible=True)
    )
  return answers, questions


def _told(fitted, answers, questions):
  """Returns the probabilities of a calibration, and which answers are right."""
  signals = np.array([answer.signals for answer in answers])
  probability = calibration_lib.Confidence(fitted).probability(
    calibration_lib.Signals(*signals.T)
  )
  return probability, np.array([not each.is_impossible for each in questions])


class FitTest(absltest.TestCase):
  def test_finds_the_regression_that_made_the_answers(self):
    answers, questions = _asked(5000)
    fitted = refusing.fit(answers, questions, risk=0.1, most_refused=1.0)
    self.assertAlmostEqual(fitted.null, -1.5, delta=0.15)
    self.assertAlmostEqual(fitted.unread_share, 0.0, delta=0.1)
    self.assertAlmostEqual(fitted.intercept + 2 * fitted.text, 1.0, delta=0.15)
    probability, right = _told(fitted, answers, questions)
    error = refusing.expected_calibration_error(probability, right)
    self.assertLess(error, 0.02)
    answered = probability >= fitted.threshold
    self.assertBetween(1 - right[answered].mean(), 0.095, 0.1)

  def test_few_answerable_questions_are_refused(self):
    answers, questions = _asked(1000)
    fitted = refusing.fit(answers, questions, risk=0.0, most_refused=0.05)
    probability, right = _told(fitted, answers, questions)
    refused = (probability < fitted.threshold)[right].mean()
    self.assertBetween(refused, 0.045, 0.05)

  def test_examples_are_likely_right_short_and_of_different_articles(self):
    found = calibration_lib.Calibration(0.0, 1.0, 0.0, 0.0, threshold=0.9)
    answers, questions = [], []
    for text, log_odds, prediction, article in (
      ('second', 4.0, 'yes', 'x'),
      ('first', 5.0, 'yes', None),
      ('same article as second', 3.5, 'yes', 'x'),
      ('wrong', 6.0, 'no', None),
      ('long ' * 20, 6.0, 'yes', None),
      ('refused', 2.0, 'yes', None),  # Its probability is 0.88.
      ('third', 3.0, 'yes', None),
      ('spanless', None, 'yes', None),
    ):
      signals = log_odds and calibration_lib.Signals(log_odds, 0.0, 0.0)
      answers.append(
        answer_lib.Answer(text, prediction, 0.0, [], signals=signals)
      )
      questions.append(
        questions_lib.Question(text, ('yes',), gold_id=article or '')
      )
    chosen = refusing.likeliest(answers, questions, found)
    self.assertEqual(chosen, ['first', 'second', 'third'])
    many = [questions_lib.Question(str(i), ('yes',)) for i in range(9)]
    chosen = refusing.likeliest(answers[:1] * 9, many, found)
    self.assertEqual(chosen, ['0', '1', '2', '3', '4', '5'])

  def test_answers_of_one_kind_are_a_user_error(self):
    answers, questions = _asked(50)
    rows = [i for i, each in enumerate(questions) if each.is_impossible]
    with self.assertRaisesRegex(errors.UserError, f'0 right of {len(rows)}'):
      refusing.fit(
        [answers[i] for i in rows],
        [questions[i] for i in rows],
        risk=0.1,
        most_refused=0.05,
      )


class ThresholdTest(absltest.TestCase):
  def test_is_the_least_with_the_risk(self):
    probability = np.array([0.9, 0.8, 0.7, 0.6, 0.6])
    is_right = np.array([True, False, True, True, False])
    # Shares of wrong answers: 0, 1/2, 1/3, and 2/5 of both 0.6.
    for risk, expected in ((0, 0.9), (0.34, 0.7), (0.39, 0.7), (0.4, 0.6)):
      found = refusing.threshold_of_risk(probability, is_right, risk)
      self.assertEqual(found, expected)
    # The most probable answer is wrong.
    found = refusing.threshold_of_risk(probability, ~is_right, 0.1)
    self.assertEqual(found, 1.0)


if __name__ == '__main__':
  absltest.main()
