"""Tests for realm_tf.evaluation.exact_match."""

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import exact_match


class PerQuestionTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    questions = [
      questions_lib.Question('q', ('The U.S.', 'America')),  # Right: 1, 1.
      questions_lib.Question('q', ('Barack Obama',)),  # 0, F1 of 2/3.
      questions_lib.Question('q', ('rome',)),  # Wrong: 0, 0.
      questions_lib.Question('q', (r'19\d\d',), regex=True),  # 1, so 1.
    ]
    predictions = ['US', 'obama', '', '1945']
    exact, f1 = exact_match.per_question(predictions, questions)
    np.testing.assert_array_equal(exact, [True, False, False, True])
    np.testing.assert_allclose(f1, [1, 2 / 3, 0, 1])

  def test_a_regex_is_not_compared_word_by_word(self):
    question = questions_lib.Question('q', ('May (1945)?',), regex=True)
    # A comparison by words would count "1945".
    self.assertEqual(exact_match.per_question(['1945'], [question]), (False, 0))


if __name__ == '__main__':
  absltest.main()
