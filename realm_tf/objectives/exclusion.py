"""Score of what must not be chosen: padding, or a span outside its block."""

import numpy as np
import tensorflow as tf

# Far below any score, so its probability is 0, yet finite: a sum stays a number
# and a row of nothing else has a gradient of 0, not NaN.
NO_SCORE = -1e9


def exists(scores: np.ndarray | tf.Tensor) -> np.ndarray | tf.Tensor:
  """Returns where `scores`, to which others may be added, are not NO_SCORE."""
  return scores > NO_SCORE / 2
