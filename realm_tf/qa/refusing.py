"""How well an answer's probability tells which questions to refuse; fits it.

A curve of risk over coverage (El-Yaniv and Wiener 2010) answers the most
probable questions first: coverage is their share, risk the share of wrong
answers among them. The answer to an impossible question is wrong.

`fit` makes the probability of development questions, which must resemble users'
questions: some impossible, and none of training.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
from scipy import stats

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import calibration as calibration_lib
from realm_tf.qa import outcome as outcome_lib

_ACCURACIES = (80, 90)  # Percent, as Kamath et al. 2020.
_MOST_POINTS = 200  # Of a curve in a file.
_NUM_BINS = 15  # Of [0, 1]; an edge belongs to the bin above it.
_NUM_EXAMPLES = 6
_LONGEST = 70  # Characters of a question that fits on a button.
_LIKELY = 0.66  # Least probability; the page's words are "Likely right".


class Rated(NamedTuple):
  """Q answers, [Q] each."""

  probability: np.ndarray
  is_right: np.ndarray
  is_impossible: np.ndarray
  is_refused: np.ndarray


def of_rows(rows: Iterable[Mapping[str, Any]]) -> Rated:
  """Returns the answers of rows of predictions.jsonl."""
  rows = list(rows)
  names = 'exact_match', 'is_impossible', 'is_refused'
  return Rated(
    np.array([row['probability'] for row in rows], np.float64),
    *(np.array([row[name] for row in rows], bool) for name in names),
  )


def measure(
  rated: Rated, answerable: Optional[np.ndarray] = None
) -> dict[str, Any]:
  """Returns fields of metrics.json, in percent, of at least one question.

  auroc is the probability that an answerable question has a more probable
  answer than an impossible one (ties count half). `answerable` are the
  probabilities of answerable questions, by default of `rated`.
  """
  coverage, risk = curve(rated)
  answered = ~rated.is_refused
  possible = ~rated.is_impossible
  metrics = {
    'num_impossible': int(rated.is_impossible.sum()),
    'answered': _percent(answered),
    'exact_match_answered': _percent(rated.is_right[answered]),
    **{
      f'coverage@{percent}': 100
      * float(np.max(coverage, where=risk <= 1 - percent / 100, initial=0))
      for percent in _ACCURACIES
    },
    'risk_coverage_area': 100 * float(np.trapezoid(risk, coverage)),
    'expected_calibration_error': 100
    * expected_calibration_error(rated.probability, rated.is_right),
  }
  if possible.any():
    metrics['refused_answerable'] = _percent(rated.is_refused[possible])
  if rated.is_impossible.any():
    metrics['refused_impossible'] = _percent(rated.is_refused[~possible])
  above, below = answerable, rated.probability[~possible]
  if above is None:
    above = rated.probability[possible]
  if len(above) and len(below):
    wins = stats.mannwhitneyu(above, below).statistic
    metrics['auroc'] = 100 * float(wins / (len(above) * len(below)))
  return metrics


def curve(rated: Rated) -> tuple[np.ndarray, np.ndarray]:
  """Returns coverage and risk at each distinct threshold, from coverage 0.

  At coverage 0 the curve has the risk of the first answers.
  """
  _, coverage, risk = by_threshold(rated.probability, rated.is_right)
  return np.insert(coverage, 0, 0.0), np.insert(risk, 0, risk[0])


def by_threshold(
  probability: np.ndarray, is_right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Returns thresholds, highest first, with coverage and risk of each."""
  order = np.argsort(-probability, kind='stable')
  values = probability[order]
  is_last = np.append(values[1:] != values[:-1], True)
  number = np.arange(1, len(order) + 1)
  risk = np.cumsum(~is_right[order]) / number
  return values[is_last], number[is_last] / len(order), risk[is_last]


def points(rated: Rated) -> list[dict[str, float]]:
  """Returns the rows of risk_coverage.jsonl, at most 200 of the curve."""
  every = np.stack(curve(rated), axis=1)
  some = np.unique(np.linspace(0, len(every) - 1, _MOST_POINTS).astype(int))
  return [{'coverage': c, 'risk': r} for c, r in every[some].tolist()]


def expected_calibration_error(
  probabilities: np.ndarray, correct: np.ndarray
) -> float:
  """Returns the expected distance between confidence and accuracy, in [0, 1].

  Naeini et al. 2015, in the form of Guo et al. 2017: 15 bins of equal width
  divide the Q >= 1 questions by probability. Each bin's |accuracy - mean
  probability| is weighted by its share of the questions.
  """
  probabilities = np.asarray(probabilities, np.float64)
  bins = np.minimum((probabilities * _NUM_BINS).astype(int), _NUM_BINS - 1)
  # A mean times a share: the bin's size cancels out.
  gaps = np.bincount(
    bins, weights=np.asarray(correct, np.float64) - probabilities
  )
  return float(np.abs(gaps).sum() / len(probabilities))


def measure_sets(sets: Mapping[str, Rated]) -> dict[str, Any]:
  """Returns `measure` of several sets together, and of each in 'sets'.

  Impossible questions of a set are compared with all answerable ones.
  """
  whole = joined(sets.values())
  answerable = whole.probability[~whole.is_impossible]
  return {
    'num_questions': len(whole.is_right),
    **measure(whole),
    'sets': {name: measure(each, answerable) for name, each in sets.items()},
  }


def joined(parts: Iterable[Rated]) -> Rated:
  """Returns the answers of all parts."""
  return Rated(*map(np.concatenate, zip(*parts)))


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
  from sklearn import linear_model  # Evaluations do not wait for it.

  signals = np.array([answers[i].signals for i in rows])
  fitted = linear_model.LogisticRegression().fit(signals, is_right)
  found = calibration_lib.Calibration(
    *map(float, [fitted.intercept_[0], *fitted.coef_[0], 0.0])
  )
  probability = calibration_lib.Confidence(found).probability(
    calibration_lib.Signals(*signals.T)
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
  confidence = calibration_lib.Confidence(found)
  probability = {
    i: float(confidence.probability(answer.signals))
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
  thresholds, _, wrong = by_threshold(probability, is_right)
  allowed = np.flatnonzero(wrong <= risk)
  return float(thresholds[allowed[-1]]) if allowed.size else 1.0


def _percent(values: np.ndarray) -> float:
  return 100 * float(values.mean()) if values.size else 0.0
