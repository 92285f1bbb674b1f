"""Tests for realm_tf.answering.answer_choice."""

import math

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.answering import answer_choice


def _candidate(column, text, weight):
  """A span of exp(score) = weight; where it is does not matter here."""
  return answer_choice.Candidate(column, 0, len(text), text, math.log(weight))


class ChooseTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    # Paris is the best span, but Rome has 3 + 1 + 2 = 6 in all.
    self.candidates = [
      _candidate(0, 'Paris', 5),
      _candidate(0, 'Rome', 3),
      _candidate(1, 'Lyon', 4),
      _candidate(1, 'the Rome', 1),
      _candidate(2, 'rome.', 2),
    ]

  def _shown(self, choice):
    return [(item.column, item.text) for item in choice.shown]

  def test_by_span_the_best_one_wins(self):
    choice = answer_choice.choose(self.candidates, 'span')
    self.assertEqual(
      self._shown(choice), [(0, 'Paris'), (1, 'Lyon'), (2, 'rome.')]
    )
    self.assertAlmostEqual(choice.score, math.log(5))
    self.assertAlmostEqual(choice.log_sum, math.log(5))

  def test_by_text_the_largest_sum_wins_and_is_shown(self):
    choice = answer_choice.choose(self.candidates, 'text')
    self.assertEqual(
      self._shown(choice), [(0, 'Rome'), (2, 'rome.'), (1, 'the Rome')]
    )
    self.assertAlmostEqual(choice.score, math.log(6))
    self.assertAlmostEqual(choice.log_sum, math.log(6))

  def test_a_block_without_the_text_comes_behind_with_its_own(self):
    candidates = [*self.candidates, _candidate(3, 'Oslo', 4)]
    choice = answer_choice.choose(candidates, 'text')
    self.assertEqual(self._shown(choice)[-1], (3, 'Oslo'))

  def test_by_span_the_sum_is_that_of_the_spans_text(self):
    candidates = [*self.candidates, _candidate(2, 'PARIS', 2)]
    choice = answer_choice.choose(candidates, 'span')
    self.assertAlmostEqual(choice.score, math.log(5))
    self.assertAlmostEqual(choice.log_sum, math.log(7))

  @parameterized.parameters('span', 'text')
  def test_the_first_of_equals(self, answer_by):
    candidates = [_candidate(0, 'x', 1), _candidate(1, 'y', 1)]
    choice = answer_choice.choose(candidates, answer_by)
    self.assertEqual(self._shown(choice), [(0, 'x'), (1, 'y')])

  def test_texts_of_which_nothing_is_left_are_not_the_same(self):
    candidates = [
      _candidate(0, 'x', 3),
      _candidate(0, '.', 2),
      _candidate(0, 'the', 2),
    ]
    choice = answer_choice.choose(candidates, 'text')
    self.assertEqual(self._shown(choice), [(0, 'x')])

  def test_far_scores_stay_finite(self):
    far = answer_choice.Candidate(0, 0, 1, 'y', -5000.0)
    choice = answer_choice.choose([_candidate(0, 'x', 1), far], 'text')
    self.assertAlmostEqual(choice.log_sum, 0.0)
    self.assertAlmostEqual(answer_choice.choose([far], 'text').log_sum, -5000.0)


if __name__ == '__main__':
  absltest.main()
