"""Tests for realm_tf.model.objectives."""

import numpy as np
import tensorflow as tf

from realm_tf.model import objectives

# Scores f(x_b, z_b'): query 0 has [log 2, log 3], query 1 has [log 1, log 4].
_QUERIES = tf.constant([[1.0, 0.0], [0.0, 1.0]])
_BLOCKS = tf.constant([[np.log(2), 0.0], [np.log(3), np.log(4)]], tf.float32)


class InverseClozeTest(tf.test.TestCase):
  def test_normalizes_over_the_blocks(self):
    # 2 / (2 + 3) and 4 / (1 + 4); over the queries it would be 2/3 and 4/7.
    actual = objectives.in_batch_log_likelihood(_QUERIES, _BLOCKS)
    self.assertAllClose(tf.exp(actual), [2 / 5, 4 / 5])

  def test_gradient_pulls_to_the_own_block(self):
    # d log p(z_b|x_b) / d f(x_b, z_b') = 1[b = b'] - p(z_b'|x_b); query b's
    # gradient is the sum over b' of this factor times z_b': 3/5 (z_0 - z_1) for
    # query 0 and 1/5 (z_1 - z_0) for query 1.
    with tf.GradientTape() as tape:
      tape.watch(_QUERIES)
      value = objectives.in_batch_log_likelihood(_QUERIES, _BLOCKS)
    difference = (_BLOCKS[0] - _BLOCKS[1]).numpy()
    self.assertAllClose(
      tape.gradient(value, _QUERIES), [3 / 5 * difference, -1 / 5 * difference]
    )

  def test_accuracy_is_per_query(self):
    # Query 0 scores block 1 above its own, query 1 its own above block 0. An
    # argmax over queries would find both right.
    self.assertAllEqual(
      objectives.in_batch_accuracy(_QUERIES, _BLOCKS), [0.0, 1.0]
    )

  def test_a_part_of_the_queries_finds_its_own_blocks(self):
    # Query 1 alone: its block is the second of both, 4 / (1 + 4).
    part = _QUERIES[1:], _BLOCKS, 1
    actual = objectives.in_batch_log_likelihood(*part)
    self.assertAllClose(tf.exp(actual), [4 / 5])
    self.assertAllEqual(objectives.in_batch_accuracy(*part), [1.0])
    # With `first` = 0 its block is the first: 1 / (1 + 4).
    actual = objectives.in_batch_log_likelihood(_QUERIES[1:], _BLOCKS)
    self.assertAllClose(tf.exp(actual), [1 / 5])

  def test_excluded_blocks_do_not_count(self):
    # Query 0 has 2 / (2 + 3) over both blocks, and 2 / 2 without block 1.
    is_compared = tf.constant([[True, False], [True, True]])
    with tf.GradientTape() as tape:
      tape.watch(_BLOCKS)
      value = objectives.in_batch_log_likelihood(
        _QUERIES, _BLOCKS, is_compared=is_compared
      )
    self.assertAllClose(tf.exp(value), [1.0, 4 / 5])
    # The formula above with query 1 alone: -1/5 and 1/5 times x_1.
    self.assertAllClose(
      tape.gradient(value, _BLOCKS), [[0.0, -1 / 5], [0.0, 1 / 5]]
    )
    self.assertAllEqual(
      objectives.in_batch_accuracy(_QUERIES, _BLOCKS, is_compared=is_compared),
      [1.0, 1.0],
    )

  def test_single_block_is_certain(self):
    self.assertAllClose(
      objectives.in_batch_log_likelihood(_QUERIES[:1], _BLOCKS[:1]), [0.0]
    )
    self.assertAllEqual(
      objectives.in_batch_accuracy(_QUERIES[:1], _BLOCKS[:1]), [1.0]
    )


if __name__ == '__main__':
  tf.test.main()
