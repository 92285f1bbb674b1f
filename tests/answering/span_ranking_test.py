"""Tests for realm_tf.answering.span_ranking."""

from absl.testing import absltest
import numpy as np

from realm_tf.answering import span_ranking
from tests import fakes


class BestSpansTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    no = fakes.NO_SPAN
    # Two blocks of 2 wordpieces, spans of up to 2: exp(g) of 1, 3, 4 and 2, 5.
    weights = np.array([[[[1, 3], [4, 1]], [[2, 1], [5, 1]]]], np.float32)
    scores = np.log(weights)
    scores[..., 1, 1] = no  # It would leave the block.
    scores[0, 1, 0, 1] = no
    spans = span_ranking.best_spans(scores, num_spans=2)
    np.testing.assert_array_equal(spans.firsts, [[[1, 0], [1, 0]]])
    np.testing.assert_array_equal(spans.ends, [[[2, 2], [2, 1]]])
    np.testing.assert_allclose(np.exp(spans.scores), [[[4, 3], [5, 2]]])
    self.assertTrue(spans.exists.all())
    # All five count, though four are kept: 1 + 3 + 4 + 2 + 5 = 15.
    np.testing.assert_allclose(np.exp(spans.log_normalizers), [15], rtol=1e-6)

  def test_a_question_without_any_span(self):
    spans = span_ranking.best_spans(
      np.full([1, 2, 3, 2], fakes.NO_SPAN, np.float32)
    )
    self.assertFalse(spans.exists.any())
    np.testing.assert_array_equal(spans.log_normalizers, [-np.inf])

  def test_no_block_has_no_span(self):
    scores = np.full([1, 2, 2, 1], -np.inf, np.float32)
    scores[0, 0, 0, 0] = 2.0
    spans = span_ranking.best_spans(scores)
    np.testing.assert_array_equal(
      spans.exists, [[[True, False], [False, False]]]
    )
    np.testing.assert_allclose(spans.log_normalizers, [2.0])

  def test_agrees_with_sorting_everything(self):
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=30, size=[3, 4, 7, 5]).astype(np.float32)
    spans = span_ranking.best_spans(scores, num_spans=6)
    flat = scores.reshape(3, 4, -1)
    np.testing.assert_array_equal(
      spans.scores, -np.sort(-flat, axis=-1)[..., :6]
    )
    rows, columns, _ = np.indices(spans.firsts.shape)
    np.testing.assert_array_equal(
      scores[rows, columns, spans.firsts, spans.ends - spans.firsts - 1],
      spans.scores,
    )
    expected = np.log(np.exp(flat.astype(np.float64)).sum(axis=(1, 2)))
    np.testing.assert_allclose(spans.log_normalizers, expected, rtol=1e-6)


class SoftmaxTest(absltest.TestCase):
  def test_minus_infinity_has_none(self):
    scores = np.array([[np.log(3), 0, -np.inf], [-np.inf] * 3])
    np.testing.assert_allclose(
      span_ranking.softmax(scores), [[3 / 4, 1 / 4, 0], [0, 0, 0]]
    )


if __name__ == '__main__':
  absltest.main()
