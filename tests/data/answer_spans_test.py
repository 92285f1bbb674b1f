"""Tests for realm_tf.data.answer_spans."""

import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.data import answer_spans
from realm_tf.text import answers as answers_lib
from tests import fakes


def _find(bodies, answers, max_width):
  return answer_spans.find(
    np.array(bodies, np.int32),
    [np.array(answer, np.int32) for answer in answers],
    max_width,
  )


def _spans(is_answer):
  """Returns the marked (block, start, width)."""
  return {(n, s, w + 1) for n, s, w in np.argwhere(is_answer).tolist()}


class FindTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('longer_than_the_body', [7, 8, 9, 6]), ('empty', [])
  )
  def test_impossible_answers_mark_nothing(self, answer):
    has_answer, is_answer = _find([[7, 8, 9]], [answer], 4)
    self.assertFalse(has_answer.any() or is_answer.any())
    bodies, answers = np.array([[7, 8, 9]]), [np.array(answer, np.int32)]
    self.assertFalse(answer_spans.contain(bodies, answers).any())

  def test_agrees_with_a_slow_loop(self):
    rng = np.random.default_rng(0)
    bodies = rng.integers(1, 4, [20, 9])  # Three words: many matches.
    answers = [rng.integers(1, 4, width).tolist() for width in (1, 2, 3, 4)]
    expected = {
      (n, s, len(answer))
      for n, body in enumerate(bodies.tolist())
      for answer in answers
      for s in range(len(body))
      if body[s : s + len(answer)] == answer
    }
    has_answer, is_answer = _find(bodies, answers, 3)
    self.assertEqual(
      _spans(is_answer), {span for span in expected if span[2] <= 3}
    )
    self.assertEqual(
      set(np.flatnonzero(has_answer).tolist()), {n for n, _, _ in expected}
    )

  def test_answer_is_whole_words(self):
    # 9 is inside a word: [7] ends before it at 0, but not at 2; [9] begins.
    body, is_inner = [7, 9, 7], np.arange(10) == 9
    _, is_answer = answer_spans.find(
      np.array([body]),
      [np.array([7]), np.array([7, 9]), np.array([9])],
      2,
      is_inner,
    )
    self.assertEqual(_spans(is_answer), {(0, 0, 2), (0, 2, 1)})


class ContainTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('both', 'a new york king', 'New York', True, True),
    ('articles_count', 'new york king', 'a New York', False, True),
    ('punctuation_counts', 'king-hill', 'king hill', False, True),
    ('longer_word', 'new yorkers', 'New York', False, False),
    ('end', 'a new york', 'New York', True, True),
    ('neither', 'york', 'New York', False, False),
  )
  def test_rule_differs_from_evaluation(
    self, text, answer, by_wordpieces, by_words
  ):
    tokenizer = fakes.tokenizer('a new york ##ers king of hill -')
    body, answer_ids = tokenizer.token_ids_batch([text, answer])
    found = answer_spans.contain(body[None], [answer_ids], tokenizer.is_inner)
    self.assertEqual(found.tolist(), [by_wordpieces])
    self.assertEqual(answers_lib.contains_answer(text, [answer]), by_words)


def _table(bodies):
  """Returns a table of blocks without titles."""
  gather = lambda ids, _, length: (None, bodies[ids][:, :length])
  return types.SimpleNamespace(num_blocks=len(bodies), gather=gather)


class IsAnyInTest(absltest.TestCase):
  def test_agrees_with_a_search_answer_by_answer(self):
    rng = np.random.default_rng(0)
    bodies = rng.integers(1, 60, [1100, 20]).astype(np.int32)
    bodies[:, 15:] = 0
    found = set()
    for width in (1, 2, 3, 9, 14, 25):
      for row in (3, 1099):
        answer = bodies[row, :width] if width < 15 else np.ones(width, np.int32)
        for changed in (False, True):
          answer = answer.copy()
          answer[-1] = 61 if changed else answer[-1]
          expected = answer_spans.contain(bodies, [answer]).any()
          actual = answer_spans.is_any_in(_table(bodies), [answer], 20)
          self.assertEqual(actual, expected)
          found.add(expected)
    self.assertEqual(found, {True, False})

  def test_no_answer_is_never_found(self):
    table = _table(np.ones([3, 4], np.int32))
    for answers in ([], [np.zeros(0, np.int32)]):
      self.assertFalse(answer_spans.is_any_in(table, answers, 4))


if __name__ == '__main__':
  absltest.main()
