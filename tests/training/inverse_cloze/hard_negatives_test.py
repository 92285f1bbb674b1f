"""Tests for realm_tf.training.inverse_cloze.hard_negatives."""

from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import null_block
from realm_tf.training import answer_labels
from realm_tf.training.inverse_cloze import hard_negatives
from realm_tf.training.inverse_cloze import question_pairs
from tests import fakes
from tests import tiny

_TEXTS = ['a b', 'a c', 'd', 'e', 'f', 'd f']


def _labels():
  config = tiny.config(finetuning={'supervision': 'gold'}).finetuning
  questions = [
    questions_lib.Question('?', ('a',), gold_id='article 0'),
    questions_lib.Question('?', ('f',), gold_id='article 4'),
  ]
  return answer_labels.AnswerLabels(
    answer_labels.tokenize(questions, tiny.TOKENIZER, 6),
    fakes.FakeTable(tiny.TOKENIZER, ['t'] * 6, _TEXTS),
    tiny.TOKENIZER,
    config=config,
  )


class HardNegativesTest(absltest.TestCase):
  def _mine(self, ids, scores, num_kept=4):
    found = zip(np.array(ids), np.array(scores, np.float32))
    retriever = mock.Mock()  # One question at a time.
    retriever.retrieve.side_effect = [
      searcher_lib.Neighbors(row[None], own[None]) for row, own in found
    ]
    with mock.patch.object(hard_negatives, '_CHUNK', 1):
      return hard_negatives.mine(
        np.arange(2),
        np.array([0, 4]),
        _labels(),
        retriever=retriever,
        num_searched=5,
        num_kept=num_kept,
      ).tolist()

  def test_neither_near_the_own_block_nor_with_the_answer(self):
    # The limits are 9.5 = 95 % of 10, and -10.5 for -10. Block 1 has the first
    # question's answer, block 5 the second's.
    found = self._mine(
      [[2, 0, 3, 1, 4], [2, 4, 3, 5, 1]],
      [[10.5, 10, 9.4, 9, 1], [-9, -10, -10.4, -11, -12]],
    )
    self.assertEqual(found, [[3, 4, -1, -1], [1, -1, -1, -1]])

  def test_none_where_the_own_block_is_not_found(self):
    found = self._mine(
      [[2, 3, 4, 5, -1], [4, 2, 3, 0, 1]],
      [[9, 8, 7, 6, -np.inf], [9, 4, 3, 2, 1]],
      num_kept=2,
    )
    self.assertEqual(found, [[-1, -1], [2, 3]])

  def test_draws_one_of_the_negatives(self):
    negatives = np.array([[7, -1, -1], [3, 4, -1], [-1, -1, -1]])
    drawn = np.array([hard_negatives.draw(negatives, 0, i) for i in range(40)])
    self.assertEqual([set(column) for column in drawn.T], [{7}, {3, 4}, {-1}])
    np.testing.assert_array_equal(
      drawn[5], hard_negatives.draw(negatives, 0, 5)
    )


class BatchesTest(absltest.TestCase):
  def test_a_batch_has_one_negative_of_each_question(self):
    labels, config = _labels(), tiny.config()
    negatives = np.array([[5, 5], [null_block.ID] * 2])
    batch = next(
      question_pairs.batches(
        question_pairs.find(labels), labels, config, negatives=negatives
      )
    )
    # Rows and columns come in the random order of the questions.
    is_first = tiny.TOKENIZER.detokenize(batch['body_ids'][0][:2]) == 'a b'
    order = [0, 1] if is_first else [1, 0]
    # Block 5 holds an f, the second question's answer, so only the first
    # question is compared with it. A missing negative is compared with none.
    compared = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
    np.testing.assert_array_equal(
      batch['is_compared'], compared[order][:, order + [2 + i for i in order]]
    )
    hard = batch['hard_body_ids'][order.index(0)]
    self.assertEqual(tiny.TOKENIZER.detokenize(hard[hard > 0]), 'd f')


if __name__ == '__main__':
  absltest.main()
