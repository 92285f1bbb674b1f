"""Tests that graphs choose answers as realm_tf.answering does."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.answering import answer_choice
from realm_tf.answering import span_ranking
from realm_tf.export import graph_spans

_NO_SPAN = -1e9


def _scores(shape, seed):
  """Returns scores with ties, and some spans that do not exist."""
  rng = np.random.default_rng(seed)
  scores = rng.integers(-3, 3, shape).astype(np.float32) / 2
  scores[rng.random(shape) < 0.3] = _NO_SPAN
  scores[0, 1] = _NO_SPAN  # A block without any,
  scores[1] = _NO_SPAN  # and a question.
  return scores


class GraphSpansTest(parameterized.TestCase):
  @parameterized.parameters((2, 3), (30, 2))
  def test_finds_the_best_spans(self, length, width):
    scores = _scores([4, 3, length, width], 0)
    # Of equal ones, NumPy keeps any for the last place.
    distinct = np.linspace(0, 0.1, length * width, dtype=np.float32)
    scores -= distinct.reshape([length, width])
    expected = span_ranking.best_spans(scores)
    found = graph_spans.best_spans(tf.constant(scores))
    np.testing.assert_array_equal(found.scores > -np.inf, expected.exists)
    for ours, theirs in (
      (found.firsts, expected.firsts),
      (found.lasts + 1, expected.ends),
      (found.scores, expected.scores),
    ):
      np.testing.assert_array_equal(
        ours.numpy()[expected.exists], theirs[expected.exists]
      )
    np.testing.assert_allclose(
      found.log_normalizers, expected.log_normalizers, rtol=1e-5
    )

  @parameterized.product(answer_by=['span', 'text'], seed=[*range(10)])
  def test_chooses_the_same(self, answer_by, seed):
    spans = span_ranking.best_spans(_scores([4, 3, 5, 2], seed))
    rng = np.random.default_rng(seed)
    texts = rng.choice(['the us', 'U.S.', 'x', 'y', ''], spans.scores.shape)
    keys = np.vectorize(lambda text: answer_choice._key(text).encode())(texts)
    scores = np.where(spans.exists, spans.scores, -np.inf)
    found = graph_spans.choose(
      tf.constant(scores, tf.float32), tf.constant(keys), answer_by
    )
    for row in range(4):
      candidates = [
        answer_choice.Candidate(
          *place, 0, texts[row][place], scores[row][place]
        )
        for place in map(tuple, np.argwhere(spans.exists[row]).tolist())
      ]
      exists = found.exists[row].numpy()
      if not candidates:
        self.assertFalse(exists.any())
        continue
      expected = answer_choice.choose(candidates, answer_by)
      shown = list(
        zip(
          found.columns[row].numpy()[exists],
          found.places[row].numpy()[exists],
          strict=True,
        )
      )
      self.assertEqual(shown, [(c.column, c.start) for c in expected.shown])
      self.assertFalse(exists[len(shown) :].any())
      np.testing.assert_allclose(
        [found.scores[row], found.log_sums[row]],
        [expected.score, expected.log_sum],
        rtol=1e-5,
      )

  def test_softmax_gives_nothing_to_no_block(self):
    scores = np.array([[1.0, 2.0, -np.inf], [-np.inf] * 3], np.float32)
    np.testing.assert_allclose(
      graph_spans.softmax(tf.constant(scores)),
      span_ranking.softmax(scores),
      rtol=1e-6,
    )


if __name__ == '__main__':
  absltest.main()
