"""Expected calibration error: does 70 % mean right in 70 of 100 cases?"""

import numpy as np

NUM_BINS = 15


def expected_calibration_error(
  probabilities: np.ndarray, correct: np.ndarray, num_bins: int = NUM_BINS
) -> float:
  """Returns the mean distance of confidence and accuracy, in [0, 1].

  Naeini et al. 2015, as Guo et al. 2017 use it: questions are put in bins of
  equal width by probability; a bin counts |accuracy - mean probability|,
  weighted by its share of the questions.

  Args:
    probabilities: Of the answers given, [Q], at least one.
    correct: Whether they are right, bool [Q].
    num_bins: Bins of [0, 1]. A probability at an edge belongs to the bin
      above, and 1 to the last one.
  """
  probabilities = np.asarray(probabilities, np.float64)
  bins = np.minimum((probabilities * num_bins).astype(int), num_bins - 1)
  # Means times shares: the bins' sizes cancel out.
  gaps = np.bincount(
    bins, weights=np.asarray(correct, np.float64) - probabilities
  )
  return float(np.abs(gaps).sum() / len(probabilities))
