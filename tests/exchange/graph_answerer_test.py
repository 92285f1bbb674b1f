"""Tests that graphs find the same spans as realm_tf.qa."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.exchange import graph_answerer
from realm_tf.qa import answer_choice


class BestSpansTest(parameterized.TestCase):
  @parameterized.parameters((2, 3), (30, 2))
  def test_finds_the_best_spans(self, length, width):
    shape = [4, 3, length, width]
    rng = np.random.default_rng(0)
    scores = rng.permutation(np.prod(shape)).astype(np.float32) / 8
    scores = scores.reshape(shape)  # Distinct: order is clear.
    scores[rng.random(shape) < 0.3] = interfaces.NO_SCORE
    scores[0, 1] = interfaces.NO_SCORE  # A block without any span,
    scores[1] = interfaces.NO_SCORE  # and a question.
    null = rng.normal(size=shape[:2]).astype(np.float32)
    null[0, 1] = null[1] = interfaces.NO_SCORE
    expected = answer_choice.best_spans(scores, null)
    found = graph_answerer.best_spans(tf.constant(scores), tf.constant(null))
    exists = expected.scores > -np.inf
    number = exists.shape[-1]
    self.assertFalse((found.scores[..., number:] > -np.inf).numpy().any())
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
      np.testing.assert_array_equal(
        ours.numpy()[..., :number][exists], theirs[exists]
      )
    for ours, theirs in zip(found[3:], expected[3:], strict=True):
      np.testing.assert_allclose(ours, theirs, rtol=1e-5)


if __name__ == '__main__':
  absltest.main()
