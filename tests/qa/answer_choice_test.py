"""Tests for realm_tf.qa.answer_choice, in NumPy and in a graph."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from realm_tf import interfaces
from realm_tf.qa import answer_choice

# Paris is the best span, but the sum for Rome is 3 + 1 + 2 = 6.
_BLOCKS = (
  (('Paris', 5), ('Rome', 3)),
  (('Lyon', 4), ('the Rome', 1)),
  (('rome.', 2),),
)


def _arrays(blocks):
  """Returns scores and keys, [1, K, 2], of (text, exp(score)) by block."""
  scores = np.full([1, len(blocks), 2], -np.inf, np.float32)
  texts = np.full(scores.shape, '', object)
  for column, block in enumerate(blocks):
    for place, (text, weight) in enumerate(block):
      scores[0, column, place] = math.log(weight)
      texts[0, column, place] = text
  keys = [answer_choice.key(text) for text in texts.flat]
  return scores, np.unique(keys, return_inverse=True)[1].reshape(texts.shape)


def _in_graph(scores, keys, answer_by):
  """Chooses in a graph with an unknown number of questions."""
  spec = [None, *scores.shape[1:]]
  function = tf.function(
    lambda scores, keys: answer_choice.choose(scores, keys, answer_by, tnp),
    input_signature=[tf.TensorSpec(spec), tf.TensorSpec(spec, tf.int32)],
  )
  return answer_choice.Choice(
    *(x.numpy() for x in function(scores, keys.astype(np.int32)))
  )


def _shown(choice, blocks):
  """Returns (column, text) of the spans shown for the only question."""
  places = zip(choice.columns[0], choice.places[0], choice.exists[0])
  return [
    (int(column), blocks[column][place][0])
    for column, place, exists in places
    if exists
  ]


@parameterized.named_parameters(
  ('numpy', answer_choice.choose), ('graph', _in_graph)
)
class ChooseTest(parameterized.TestCase):
  def test_the_best_span_or_the_largest_sum_wins_and_is_shown(self, choose):
    blocks = (*_BLOCKS, (('Oslo', 4),))
    by_span = [(0, 'Paris'), (1, 'Lyon'), (3, 'Oslo'), (2, 'rome.')]
    # A block without the text comes last, with its own.
    by_text = [(0, 'Rome'), (2, 'rome.'), (1, 'the Rome'), (3, 'Oslo')]
    for by, score, shown in (('span', 5, by_span), ('text', 6, by_text)):
      choice = choose(*_arrays(blocks), by)
      self.assertEqual(_shown(choice, blocks), shown)
      for found in (choice.scores, choice.log_sums):
        np.testing.assert_allclose(np.exp(found), [score], rtol=1e-6)

  def test_by_span_the_sum_is_over_the_text_of_the_span(self, choose):
    blocks = (*_BLOCKS[:2], (('rome.', 2), ('PARIS', 2)))
    choice = choose(*_arrays(blocks), 'span')
    np.testing.assert_allclose(np.exp(choice.scores), [5], rtol=1e-6)
    np.testing.assert_allclose(np.exp(choice.log_sums), [7], rtol=1e-6)

  def test_the_first_of_tied_spans_wins(self, choose):
    blocks = ((('x', 1),), (('y', 1),))
    for answer_by in ('span', 'text'):
      choice = choose(*_arrays(blocks), answer_by)
      self.assertEqual(_shown(choice, blocks), [(0, 'x'), (1, 'y')])

  def test_texts_that_normalize_to_nothing_stay_different(self, choose):
    blocks = ((('x', 3),), (('.', 2), ('the', 2)))
    choice = choose(*_arrays(blocks), 'text')
    self.assertEqual(_shown(choice, blocks)[0], (0, 'x'))

  def test_very_low_scores_stay_finite(self, choose):
    scores, keys = _arrays(((('x', 1), ('y', 1)),))
    scores[..., 1] = -5000
    np.testing.assert_allclose(choose(scores, keys, 'text').log_sums, [0])
    far = choose(scores[..., 1:], keys[..., 1:], 'text')
    np.testing.assert_allclose(far.log_sums, [-5000])

  def test_a_question_without_any_span(self, choose):
    choice = choose(*_arrays([(), ()]), 'text')
    self.assertFalse(choice.exists.any())
    np.testing.assert_array_equal(choice.scores, [-np.inf])


class BestSpansTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    no = interfaces.NO_SCORE
    # Two blocks of 2 wordpieces, spans of up to 2: exp(g) of 1, 3, 4 and 2, 5.
    weights = np.array([[[[1, 3], [4, 1]], [[2, 1], [5, 1]]]], np.float32)
    scores = np.log(weights)
    scores[..., 1, 1] = no  # It would leave the block.
    scores[0, 1, 0, 1] = no
    null = np.log(np.array([[6, 1]], np.float32))
    spans = answer_choice.best_spans(scores, null, num_spans=2)
    np.testing.assert_array_equal(spans.firsts, [[[1, 0], [1, 0]]])
    np.testing.assert_array_equal(spans.lasts, [[[1, 1], [1, 0]]])
    np.testing.assert_allclose(np.exp(spans.scores), [[[4, 3], [5, 2]]])
    # All five spans count, but four are kept: 1 + 3 + 4 and 2 + 5.
    np.testing.assert_allclose(
      np.exp(spans.log_normalizers), [[8, 7]], rtol=1e-6
    )
    np.testing.assert_allclose(np.exp(spans.log_nulls), [[6, 1]], rtol=1e-6)
    # With the null span: 8 + 6 and 7 + 1.
    np.testing.assert_allclose(
      answer_choice.reading_probabilities(spans),
      [[[4 / 14, 3 / 14], [5 / 8, 2 / 8]]],
      rtol=1e-6,
    )

  def test_a_question_without_any_span(self):
    none = np.full([1, 2, 3, 2], interfaces.NO_SCORE, np.float32)
    spans = answer_choice.best_spans(none, none[..., 0, 0])
    np.testing.assert_array_equal(spans.scores, np.full([1, 2, 6], -np.inf))
    for each in (spans.log_normalizers, spans.log_nulls):
      np.testing.assert_array_equal(each, [[-np.inf, -np.inf]])
    np.testing.assert_array_equal(
      answer_choice.reading_probabilities(spans), np.zeros([1, 2, 6])
    )

  def test_agrees_with_sorting_everything(self):
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=30, size=[3, 4, 7, 5]).astype(np.float32)
    null = np.zeros([3, 4], np.float32)
    spans = answer_choice.best_spans(scores, null, num_spans=6)
    flat = scores.reshape(3, 4, -1)
    np.testing.assert_array_equal(
      spans.scores, -np.sort(-flat, axis=-1)[..., :6]
    )
    rows, columns, _ = np.indices(spans.firsts.shape)
    np.testing.assert_array_equal(
      scores[rows, columns, spans.firsts, spans.lasts - spans.firsts],
      spans.scores,
    )
    expected = np.log(np.exp(flat.astype(np.float64)).sum(axis=2))
    np.testing.assert_allclose(spans.log_normalizers, expected, rtol=1e-6)


class SoftmaxTest(absltest.TestCase):
  def test_minus_infinity_has_probability_zero(self):
    scores = np.array([[np.log(3), 0, -np.inf], [-np.inf] * 3], np.float32)
    expected = [[3 / 4, 1 / 4, 0], [0, 0, 0]]
    for xp, array in ((np, scores), (tnp, tf.constant(scores))):
      np.testing.assert_allclose(
        answer_choice.softmax(array, xp), expected, rtol=1e-6
      )

  def test_of_an_empty_corpus(self):
    scores = np.zeros([2, 0], np.float32)
    self.assertEqual(answer_choice.softmax(scores).shape, (2, 0))


if __name__ == '__main__':
  absltest.main()
