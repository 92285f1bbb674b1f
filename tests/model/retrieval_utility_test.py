"""Tests for realm_tf.model.objectives."""

import numpy as np
import tensorflow as tf

from realm_tf.model import objectives


def _log(values):
  return tf.constant(np.log(values), tf.float32)


class RetrievalUtilityTest(tf.test.TestCase):
  def test_block_utility_compares_with_the_null_block(self):
    # Row 0: 1/2 is 4 times the null block's 1/8, and 1/16 is half of it.
    actual = objectives.block_utility(
      _log([[1 / 8, 1 / 2, 1 / 16], [1 / 3, 1 / 3, 2 / 3]])
    )
    self.assertAllClose(tf.exp(actual), [[1.0, 4.0, 1 / 2], [1.0, 1.0, 2.0]])

  def test_marginal_utility_compares_the_sum_with_the_null_block(self):
    # log 1/4 - log 1/8 = log 2 and log 1/9 - log 1/3 = log 1/3.
    actual = objectives.marginal_utility(
      _log([1 / 4, 1 / 9]), _log([[1 / 8, 1 / 2, 1.0], [1 / 3, 1 / 3, 1.0]])
    )
    self.assertAllClose(tf.exp(actual), [2.0, 1 / 3])

  def test_the_null_block_alone_has_utility_zero(self):
    log_p_y = _log([1 / 7])
    self.assertAllClose(
      objectives.marginal_utility(log_p_y, log_p_y[:, None]), [0.0]
    )
    self.assertAllClose(objectives.block_utility(log_p_y[:, None]), [[0.0]])

  def test_rank_counts_the_blocks_scored_above_the_most_useful_block(self):
    actual = objectives.rank_of_best(
      tf.constant([[5.0, 1.0, 3.0], [0.0, 9.0, 2.0], [4.0, 4.0, 1.0]]),
      _log([[0.1, 0.2, 0.6], [0.1, 0.5, 0.4], [0.3, 0.2, 0.1]]),
    )
    self.assertAllEqual(actual, [2.0, 1.0, 1.0])


if __name__ == '__main__':
  tf.test.main()
