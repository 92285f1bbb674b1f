"""Tests for realm_tf.qa.calibrating."""

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import calibrating
from realm_tf.qa import calibration as calibration_lib
from realm_tf.qa import refusing


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


class FitTest(absltest.TestCase):
  def test_finds_the_regression_that_made_the_answers(self):
    answers, questions = _asked(5000)
    fitted = calibrating.fit(answers, questions, risk=0.1, most_refused=1.0)
    self.assertAlmostEqual(fitted.null, -1.5, delta=0.15)
    self.assertAlmostEqual(fitted.unread_share, 0.0, delta=0.1)
    self.assertAlmostEqual(fitted.intercept + 2 * fitted.text, 1.0, delta=0.15)
    signals = np.array([answer.signals for answer in answers])
    probability = calibration_lib.probability(
      calibration_lib.Signals(*signals.T), fitted
    )
    right = np.array([not each.is_impossible for each in questions])
    error = refusing.expected_calibration_error(probability, right)
    self.assertLess(error, 0.02)
    answered = probability >= fitted.threshold
    self.assertBetween(1 - right[answered].mean(), 0.095, 0.1)

  def test_few_answerable_questions_are_refused(self):
    answers, questions = _asked(1000)
    fitted = calibrating.fit(answers, questions, risk=0.0, most_refused=0.05)
    signals = np.array([answer.signals for answer in answers])
    probability = calibration_lib.probability(
      calibration_lib.Signals(*signals.T), fitted
    )
    right = np.array([not each.is_impossible for each in questions])
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
    chosen = calibrating.likeliest(answers, questions, found)
    self.assertEqual(chosen, ['first', 'second', 'third'])
    many = [questions_lib.Question(str(i), ('yes',)) for i in range(9)]
    chosen = calibrating.likeliest(answers[:1] * 9, many, found)
    self.assertEqual(chosen, ['0', '1', '2', '3', '4', '5'])

  def test_answers_of_one_kind_are_a_user_error(self):
    answers, questions = _asked(50)
    rows = [i for i, each in enumerate(questions) if each.is_impossible]
    with self.assertRaisesRegex(errors.UserError, f'0 right of {len(rows)}'):
      calibrating.fit(
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
      found = calibrating.threshold_of_risk(probability, is_right, risk)
      self.assertEqual(found, expected)

  def test_nothing_is_answered_if_the_first_answer_is_wrong(self):
    found = calibrating.threshold_of_risk(
      np.array([0.9]), np.array([False]), 0.1
    )
    self.assertEqual(found, 1.0)


if __name__ == '__main__':
  absltest.main()
