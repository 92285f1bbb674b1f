"""Tests for realm_tf.qa.outcome; open_qa_test tests its evaluators."""

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import outcome


class QualityTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    questions = [
      questions_lib.Question('q', ('The U.S.', 'America')),  # Right: 1, 1.
      questions_lib.Question('q', ('Barack Obama',)),  # 0, F1 of 2/3.
      questions_lib.Question('q', ('rome',)),  # Wrong: 0, 0.
      questions_lib.Question('q', (r'19\d\d',), regex=True),  # 1, so 1.
      # A comparison by words would count "1945".
      questions_lib.Question('q', ('May (1945)?',), regex=True),
    ]
    predictions = ['US', 'obama', '', '1945', '1945']
    exact, f1 = outcome.quality(predictions, questions)
    np.testing.assert_array_equal(exact, [True, False, False, True, False])
    np.testing.assert_allclose(f1, [1, 2 / 3, 0, 1, 0])


class RecallTest(absltest.TestCase):
  def test_counts_questions_with_a_right_block_among_the_first_k(self):
    found = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0], [0, 0, 1]], bool)
    values = dict(outcome.recall('recall', found, [1, 2, 3, 9]))
    self.assertEqual(
      {name: each.mean() for name, each in values.items()},
      {'recall@1': 0.25, 'recall@2': 0.5, 'recall@3': 0.75, 'recall@9': 0.75},
    )
    self.assertEqual(outcome.first_rank(found).tolist(), [2, 1, 0, 3])


if __name__ == '__main__':
  absltest.main()
