"""How well an answer's probability tells which questions to refuse.

A curve of risk over coverage (El-Yaniv and Wiener 2010) answers the most
probable questions first: coverage is their share, risk the share of wrong
answers among them. The answer to an impossible question is wrong.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from realm_tf.corpus import records
from realm_tf.qa import outcome as outcome_lib

_ACCURACIES = (80, 90)  # Percent, as Kamath et al. 2020.
_MOST_POINTS = 200  # Of a curve in a file.
_NUM_BINS = 15


class Rated(NamedTuple):
  """Q answers, [Q] each."""

  probability: np.ndarray
  is_right: np.ndarray
  is_impossible: np.ndarray
  is_refused: np.ndarray


def of_outcome(outcome: outcome_lib.Outcome) -> Rated:
  """Returns the answers of an outcome; there must be a reader."""
  return Rated(
    np.array([answer.probability for answer in outcome.answers]),
    outcome.quality.exact,
    np.array([question.is_impossible for question in outcome.questions]),
    np.array([answer.is_refused for answer in outcome.answers]),
  )


def measure(rated: Rated) -> dict[str, Any]:
  """Returns fields of metrics.json, in percent, of at least one question.

  auroc is the probability that an answerable question has a more probable
  answer than an impossible one (ties count half).
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
  if possible.any() and rated.is_impossible.any():
    metrics['auroc'] = 100 * _auroc(
      rated.probability[possible], rated.probability[~possible]
    )
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
  probabilities: np.ndarray, correct: np.ndarray, num_bins: int = _NUM_BINS
) -> float:
  """Returns the expected distance between confidence and accuracy, in [0, 1].

  Naeini et al. 2015, in the form of Guo et al. 2017: bins of equal width divide
  the questions by probability. Each bin's |accuracy - mean probability| is
  weighted by its share of the questions.

  Args:
    probabilities: Probability of each of Q >= 1 answers.
    num_bins: Bins of [0, 1]; an edge belongs to the bin above it.
  """
  probabilities = np.asarray(probabilities, np.float64)
  bins = np.minimum((probabilities * num_bins).astype(int), num_bins - 1)
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
  result = {'num_questions': len(whole.is_right), **measure(whole), 'sets': {}}
  answerable = whole.probability[~whole.is_impossible]
  for name, rated in sets.items():
    result['sets'][name] = measure(rated)
    impossible = rated.probability[rated.is_impossible]
    if len(impossible) and len(answerable):
      auroc = 100 * _auroc(answerable, impossible)
      result['sets'][name]['auroc'] = auroc
  return result


def read(path: str) -> Rated:
  """Returns the answers in a predictions.jsonl."""
  rows = [row for _, row in records.read_json_lines(path)]
  names = 'exact_match', 'is_impossible', 'is_refused'
  return Rated(
    np.array([row['probability'] for row in rows], np.float64),
    *(np.array([row[name] for row in rows], bool) for name in names),
  )


def joined(parts: Iterable[Rated]) -> Rated:
  """Returns the answers of all parts."""
  return Rated(*map(np.concatenate, zip(*parts)))


def _auroc(above: np.ndarray, below: np.ndarray) -> float:
  wins = stats.mannwhitneyu(above, below).statistic
  return float(wins / (len(above) * len(below)))


def _percent(values: np.ndarray) -> float:
  return 100 * float(values.mean()) if values.size else 0.0
