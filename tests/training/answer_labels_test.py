"""Tests for realm_tf.training.answer_labels."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.training import answer_labels
from tests import fakes
from tests import tiny

_TEXTS = ['a b . c d', 'e a b f', 'd d d d', 'f']


class _CountingTable(fakes.FakeTable):
  """Counts the blocks that are read."""

  num_gathered = 0

  def gather(self, ids, *lengths):
    self.num_gathered += np.size(ids)
    return super().gather(ids, *lengths)


def _labels(*questions, **changes):
  table = _CountingTable(tiny.TOKENIZER, ['a', 'b', 'c', 'd'], _TEXTS)
  config = tiny.config(finetuning=changes).finetuning
  tokenized = answer_labels.tokenize(questions, tiny.TOKENIZER, 6)
  return answer_labels.AnswerLabels(
    tokenized, table, tiny.TOKENIZER, config=config
  )


class AnswerLabelsTest(absltest.TestCase):
  def test_finds_each_of_the_answers(self):
    labels = _labels(questions_lib.Question('?', ('c d', 'f')))
    self.assertFalse(labels.has_answer(0, np.array([-1, -1])).any())
    found = labels.has_answer(0, np.array([3, -1, 2, 0, 1]))
    self.assertEqual(found.tolist(), [True, False, False, True, True])

  def test_reads_a_block_once_for_each_question(self):
    labels = _labels(
      questions_lib.Question('?', ('f',)), questions_lib.Question('?', ('a',))
    )
    has = [False, True, False, True], [True, True, False, False]
    # Each search has another order and one more block.
    for ids, num_gathered in (([2, 0], 2), ([3, 0], 3), ([0, 1, 3, 2], 4)):
      expected = [has[0][i] for i in ids]
      self.assertEqual(labels.has_answer(0, np.array(ids)).tolist(), expected)
      self.assertEqual(labels.table.num_gathered, num_gathered)
    self.assertEqual(labels.has_answer(1, np.arange(4)).tolist(), list(has[1]))
    self.assertEqual(labels.table.num_gathered, 8)

  def test_forgets_labels_above_the_limit(self):
    labels = _labels(
      questions_lib.Question('?', ('f',)), questions_lib.Question('?', ('a',))
    )
    with mock.patch.object(answer_labels, '_MAX_KNOWN', 3):
      for row, num_gathered in ((0, 2), (1, 4), (1, 4), (0, 6)):
        labels.has_answer(row, np.array([0, 1]))
        self.assertEqual(labels.table.num_gathered, num_gathered)

  def test_gold_blocks_are_the_articles_blocks_with_the_answer(self):
    labels = _labels(
      questions_lib.Question('?', ('d',), gold_id='article 0'),
      questions_lib.Question('?', ('f',), gold_id='article 0'),
      questions_lib.Question('?', ('f',)),
      # Made from a block.
      questions_lib.Question('?', ('d',), gold_id='article 0', gold_block=0),
      supervision='gold',
    )
    gold = [labels.gold(row).tolist() for row in range(4)]
    self.assertEqual(gold, [[0], [], [], [0]])
    found = labels.has_answer(0, np.array([2, 0]))
    self.assertEqual(found.tolist(), [False, True])  # Block 2 has a d, too.

  def test_other_blocks_with_the_answer_are_not_compared(self):
    labels = _labels(
      questions_lib.Question('?', ('d',), gold_id='article 0'),
      questions_lib.Question('?', ('d',)),
      questions_lib.Question(
        '?', ('[d].*[d]',), gold_id='article 2', regex=True
      ),
      supervision='gold',
    )
    ids = np.array([3, 2, 0, 1, -1])
    for row, expected in (
      (0, [True, False, True, True, True]),  # Block 2 has a d, 0 is gold.
      (1, [True] * 5),  # Without a gold block both are positives.
      (2, [True] * 5),  # Only the gold block matches.
    ):
      self.assertEqual(labels.is_compared(row, ids).tolist(), expected)

  def test_blocks_that_hold_answers_of_several_questions(self):
    labels = _labels(
      questions_lib.Question('?', ('f', 'c d')),
      questions_lib.Question('?', ('a .* f',), regex=True),
    )
    held = labels.hold_text(np.array([1, 0]), np.array([1, 2, 1, 0]))
    self.assertEqual(
      held.tolist(), [[True, False, True, False], [True, False, True, True]]
    )


class CheckTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._table = tiny.open_corpus(self.create_tempdir().full_path)

  def _check(self, *given, **more):
    questions = answer_labels.tokenize(given, tiny.TOKENIZER, 6)
    answer_labels.check(questions, self._table, length=20, **more)

  def test_one_answer_in_the_corpus_suffices(self):
    text = self._table.texts([self._table.num_blocks - 1])[0]
    first, last = text.split()[0], text.split()[-2]
    for answer in (first, last, text):
      self._check(
        questions_lib.Question('?', ('a a a a a a a a a',)),
        questions_lib.Question('?', (answer,)),
      )

  @parameterized.parameters(1, 3, 20)
  def test_no_answer_in_the_corpus_is_a_user_error(self, width):
    answer = ' '.join(['a'] * width) + ' ' + ' '.join(['b b'] * width)
    with self.assertRaisesRegex(
      errors.UserError, r"none of the first 1 .*'Who\?'"
    ):
      self._check(questions_lib.Question('Who?', (answer + ' a a',)))

  def test_a_regular_expression_is_not_searched(self):
    self._check(questions_lib.Question('?', ('zzz.*',), regex=True))

  def test_articles_that_the_corpus_lacks_give_a_warning_or_an_error(self):
    text, known = self._table.texts([0])[0], self._table.article_ids([0])[0]
    own = questions_lib.Question('?', (text,), gold_id=known)
    other = questions_lib.Question('?', (text,), gold_id='elsewhere')
    with self.assertLogs(level='WARNING') as logs:
      self._check(own, other, needs_gold=True)
    self.assertIn('1 of 2 that are not in', logs.output[0])
    with self.assertLogs(level='WARNING'):
      self._check(other)
    with self.assertRaisesRegex(errors.UserError, "gold_id must .*'elsewhere'"):
      self._check(other, needs_gold=True)


if __name__ == '__main__':
  absltest.main()
