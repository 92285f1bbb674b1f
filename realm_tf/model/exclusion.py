"""Score of excluded candidates: padding, or a span outside its block."""

import numpy as np
import tensorflow as tf

# Far below any score, so its probability is 0. Finite, so sums are not NaN, and
# a row of excluded candidates alone has a gradient of 0.
NO_SCORE = -1e9


def exists(scores: np.ndarray | tf.Tensor) -> np.ndarray | tf.Tensor:
  """Returns where `scores`, perhaps plus other scores, are not NO_SCORE."""
  return scores > NO_SCORE / 2
