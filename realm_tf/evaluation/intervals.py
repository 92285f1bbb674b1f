"""Bootstrap confidence intervals of means over questions."""

import numpy as np

NUM_RESAMPLES = 1000
_LEVEL = 0.95
_CHUNK = 4_000_000  # Draws at once; 32 MB each of numbers and of counts.


def bootstrap(
  values: np.ndarray, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> np.ndarray:
  """Returns 95 % intervals of the means, by the percentile bootstrap.

  Questions are drawn with replacement, as many as there are, and all metrics
  are of the same draws (Efron and Tibshirani 1993, chapter 13).

  Args:
    values: Of M metrics for each of Q questions, [Q, M]; Q at least 1.
    seed: Of the draws.
    num_resamples: Draws.

  Returns:
    Lower and upper ends in the unit of `values`, float64 [M, 2].
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


def _counts(rng, num_draws, num_questions):
  """Returns how often each question is drawn, float64 [draws, Q]."""
  drawn = rng.integers(num_questions, size=[num_draws, num_questions])
  drawn += np.arange(num_draws)[:, None] * num_questions
  counts = np.bincount(drawn.ravel(), minlength=num_draws * num_questions)
  return counts.reshape(num_draws, num_questions).astype(np.float64)
