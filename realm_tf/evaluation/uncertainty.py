"""Confidence intervals of means, and the calibration of probabilities."""

import numpy as np

NUM_RESAMPLES = 1000
_LEVEL = 0.95
_CHUNK = 4_000_000  # Draws at once: 32 MB of indices and 32 MB of counts.
_NUM_BINS = 15


def bootstrap(
  values: np.ndarray, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> np.ndarray:
  """Returns 95 % intervals of the means, by the percentile bootstrap.

  Q questions are drawn with replacement, and all metrics share the draws (Efron
  and Tibshirani 1993, chapter 13). scipy.stats.bootstrap returns the same ends
  for a seed, but takes three times as long.

  Args:
    values: M metrics of Q >= 1 questions, [Q, M]; the result is [M, 2].
  """
  values = np.asarray(values, np.float64)
  num_questions = len(values)
  rng = np.random.default_rng(seed)
  step = max(1, _CHUNK // num_questions)
  means = [
    _counts(rng, min(step, num_resamples - start), num_questions) @ values
    for start in range(0, num_resamples, step)
  ]
  tail = (1 - _LEVEL) / 2
  means = np.concatenate(means) / num_questions  # [R, M]
  return np.quantile(means, [tail, 1 - tail], axis=0).T


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


def _counts(
  rng: np.random.Generator, num_draws: int, num_questions: int
) -> np.ndarray:
  """Returns how often each question is drawn, float64 [draws, Q]."""
  drawn = rng.integers(num_questions, size=[num_draws, num_questions])
  drawn += np.arange(num_draws)[:, None] * num_questions
  counts = np.bincount(drawn.ravel(), minlength=num_draws * num_questions)
  return counts.reshape(num_draws, num_questions).astype(np.float64)
