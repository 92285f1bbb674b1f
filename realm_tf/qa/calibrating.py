"""Fits the probability that an answer is right, and the threshold of refusing.

Development questions must resemble users' questions: some impossible, and none
of training.
"""

from collections.abc import Sequence

import numpy as np
from sklearn import linear_model

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import calibration as calibration_lib
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import refusing

_NUM_EXAMPLES = 6
_LONGEST = 70  # Characters of a question that fits on a button.
_LIKELY = 0.66  # Least probability; the page's words are "Likely right".


def fit(
  answers: Sequence[answer_lib.Answer],
  questions: Sequence[questions_lib.Question],
  *,
  risk: float = 0.1,
  most_refused: float = 0.05,
) -> calibration_lib.Calibration:
  """Fits a logistic regression of the answers' signals (Platt 2000).

  Args:
    risk: Largest share of wrong answers among those not refused.
    most_refused: Largest share of answerable questions to refuse; it has
      precedence over `risk`.

  Raises:
    UserError: All answers are right, or all are wrong.
  """
  predictions = [answer.prediction for answer in answers]
  is_right = outcome_lib.quality(predictions, questions).exact
  rows = [i for i, answer in enumerate(answers) if answer.signals]
  is_right = is_right[rows]
  if is_right.all() or not is_right.any():
    raise errors.UserError(
      'Calibration needs questions with right and with wrong answers. Found '
      f'{is_right.sum()} right of {len(is_right)}. Give other --questions.'
    )
  signals = np.array([answers[i].signals for i in rows])
  fitted = linear_model.LogisticRegression().fit(signals, is_right)
  found = calibration_lib.Calibration(
    *map(float, [fitted.intercept_[0], *fitted.coef_[0], 0.0])
  )
  probability = calibration_lib.probability(
    calibration_lib.Signals(*signals.T), found
  )
  possible = np.array([not questions[i].is_impossible for i in rows])
  threshold = min(
    threshold_of_risk(probability, is_right, risk),
    float(np.quantile(probability[possible], most_refused, method='lower'))
    if possible.any()
    else 1.0,
  )
  return found._replace(threshold=threshold)


def likeliest(
  answers: Sequence[answer_lib.Answer],
  questions: Sequence[questions_lib.Question],
  found: calibration_lib.Calibration,
) -> list[str]:
  """Returns at most six questions with likely, right answers, likeliest first.

  They are the examples of the page: short, and each of another article, where
  questions have a `gold_id`.
  """
  predictions = [answer.prediction for answer in answers]
  is_right = outcome_lib.quality(predictions, questions).exact
  probability = {
    i: float(calibration_lib.probability(answer.signals, found))
    for i, answer in enumerate(answers)
    if is_right[i] and answer.signals
  }
  chosen: dict[str, str] = {}  # Article -> question.
  for i in sorted(probability, key=lambda i: -probability[i]):
    text, article = questions[i].question, questions[i].gold_id
    is_likely = probability[i] >= max(found.threshold, _LIKELY)
    if is_likely and len(text) <= _LONGEST:
      chosen.setdefault(article or text, text)
  return list(chosen.values())[:_NUM_EXAMPLES]


def threshold_of_risk(
  probability: np.ndarray, is_right: np.ndarray, risk: float
) -> float:
  """Returns the least threshold with at most this share of wrong answers.

  1 if even the most probable answers are wrong too often.

  Args:
    probability: Of each answer, [Q].
    is_right: bool [Q].
  """
  thresholds, _, wrong = refusing.by_threshold(probability, is_right)
  allowed = np.flatnonzero(wrong <= risk)
  return float(thresholds[allowed[-1]]) if allowed.size else 1.0
