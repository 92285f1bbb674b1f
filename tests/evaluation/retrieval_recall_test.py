"""Tests for realm_tf.evaluation.retrieval_recall."""

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import retrieval_recall
from realm_tf.text import answers

_TEXTS = ['Paris is in France.', 'Rome is in Italy.', 'May 1945']
_ARTICLES = ['f', 'i', 'f']


def _matcher():
  return answers.AnswerMatcher(lambda ids: [_TEXTS[i] for i in ids])


def _read_article_ids(ids):
  return [_ARTICLES[i] for i in ids]


class HoldsAnswerTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    questions = [
      questions_lib.Question('q', ('italy',)),  # Found at rank 2.
      questions_lib.Question('q', ('Berlin', 'Paris')),  # At rank 1.
      questions_lib.Question('q', ('Oslo',)),  # Never.
      questions_lib.Question('q', (r'may\s+\d+',), regex=True),  # At 3.
    ]
    block_ids = np.array([[0, 1, 2]] * 4)
    found = retrieval_recall.holds_answer(block_ids, _matcher(), questions)
    recall = [retrieval_recall.within(found, k).mean() for k in (1, 2, 3, 9)]
    self.assertEqual(recall, [0.25, 0.5, 0.75, 0.75])
    np.testing.assert_array_equal(
      retrieval_recall.first_rank(found), [2, 1, 0, 3]
    )

  def test_a_missing_block_holds_no_answer(self):
    question = questions_lib.Question('q', ('May',))
    found = retrieval_recall.holds_answer(
      np.array([[-1, 2]]), _matcher(), [question]
    )
    np.testing.assert_array_equal(found, [[False, True]])


class IsOfGoldArticleTest(absltest.TestCase):
  def test_every_block_of_the_article_counts(self):
    questions = [
      questions_lib.Question('q', ('x',), gold_id='f'),
      questions_lib.Question('q', ('x',), gold_id='i'),
      questions_lib.Question('q', ('x',), gold_id='elsewhere'),
      questions_lib.Question('q', ('x',)),
    ]
    found = retrieval_recall.is_of_gold_article(
      np.array([[0, 1, 2], [-1, 0, 1], [0, 1, 2], [-1, -1, 0]]),
      _read_article_ids,
      questions,
    )
    np.testing.assert_array_equal(
      found,
      [
        [True, False, True],
        [False, False, True],
        [False, False, False],
        [False, False, False],
      ],
    )
    self.assertEqual(found.dtype, bool)

  def test_an_article_without_an_id_is_never_gold(self):
    question = questions_lib.Question('q', ('x',))
    found = retrieval_recall.is_of_gold_article(
      np.array([[0, -1]]), lambda ids: [''] * len(ids), [question]
    )
    np.testing.assert_array_equal(found, [[False, False]])


if __name__ == '__main__':
  absltest.main()
