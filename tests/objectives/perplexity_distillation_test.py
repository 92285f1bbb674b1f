"""Tests for realm_tf.objectives.perplexity_distillation, by hand."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.objectives import perplexity_distillation

_LOG_P = np.log(np.array([[0.1, 0.4, 0.5]], np.float32))
_SCORES = np.log(np.array([[1.0, 1.0, 2.0]], np.float32))
_ALL = np.ones([1, 3], bool)


def _divergence(scores, is_real=_ALL, temperature=1.0):
  return perplexity_distillation.divergence(
    tf.constant(scores), tf.constant(_LOG_P), is_real, temperature
  ).numpy()


class PerplexityDistillationTest(absltest.TestCase):
  def test_is_the_divergence_from_the_readers_distribution(self):
    expected = 0.1 * np.log(0.1 / 0.25) + 0.4 * np.log(0.4 / 0.25)
    np.testing.assert_allclose(_divergence(_SCORES), [expected], atol=1e-6)
    np.testing.assert_allclose(_divergence(_LOG_P), [0.0], atol=1e-6)

  def test_temperature_sharpens_the_teacher(self):
    # Squares of .1, .4 and .5, over their sum.
    taught = np.array([0.01, 0.16, 0.25]) / 0.42
    expected = (taught * np.log(taught / np.array([0.25, 0.25, 0.5]))).sum()
    np.testing.assert_allclose(
      _divergence(_SCORES, temperature=0.5), [expected], atol=1e-6
    )

  def test_the_gradient_is_the_difference_of_the_distributions(self):
    scores, log_p = tf.constant(_SCORES), tf.constant(_LOG_P)
    with tf.GradientTape() as tape:
      tape.watch([scores, log_p])
      loss = perplexity_distillation.divergence(scores, log_p, _ALL, 1.0)
    by_scores, by_log_p = tape.gradient(loss, [scores, log_p])
    expected = [[0.25 - 0.1, 0.25 - 0.4, 0.5 - 0.5]]
    np.testing.assert_allclose(by_scores, expected, atol=1e-6)
    self.assertIsNone(by_log_p)

  def test_what_is_no_block_neither_teaches_nor_learns(self):
    scores = np.array([[0.0, 0.0, -1e9]], np.float32)
    expected = 0.2 * np.log(0.2 / 0.5) + 0.8 * np.log(0.8 / 0.5)
    is_real = np.array([[True, True, False]])
    np.testing.assert_allclose(
      _divergence(scores, is_real), [expected], atol=1e-6
    )


if __name__ == '__main__':
  absltest.main()
