"""Tests for realm_tf.evaluation.retrieval_recall."""

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import retrieval_recall
from realm_tf.text import answers

_TEXTS = ['Paris is in France.', 'Rome is in Italy.', 'May 1945']


def _matcher():
  return answers.AnswerMatcher(lambda ids: [_TEXTS[i] for i in ids])


class RecallAtTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    questions = [
      questions_lib.Question('q', ('italy',)),  # Found at rank 2.
      questions_lib.Question('q', ('Berlin', 'Paris')),  # At rank 1.
      questions_lib.Question('q', ('Oslo',)),  # Never.
      questions_lib.Question('q', (r'may\s+\d+',), regex=True),  # At 3.
    ]
    block_ids = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]])
    recall = retrieval_recall.recall_at(
      block_ids, _matcher(), questions, [1, 2, 3]
    )
    self.assertEqual(recall, {1: 25.0, 2: 50.0, 3: 75.0})

  def test_no_block_holds_nothing(self):
    question = questions_lib.Question('q', ('May',))
    recall = retrieval_recall.recall_at(
      np.array([[-1, 2]]), _matcher(), [question], [1, 2]
    )
    self.assertEqual(recall, {1: 0.0, 2: 100.0})

  def test_a_cut_off_must_be_retrieved(self):
    question = questions_lib.Question('q', ('May',))
    for k in (0, 3):
      with self.assertRaisesRegex(ValueError, r'in \[1, 2\]'):
        retrieval_recall.recall_at(
          np.array([[0, 1]]), _matcher(), [question], [k]
        )

  def test_rows_and_questions_must_pair_up(self):
    with self.assertRaisesRegex(ValueError, '1 rows, 0 questions'):
      retrieval_recall.recall_at(np.array([[0]]), _matcher(), [], [1])


if __name__ == '__main__':
  absltest.main()
