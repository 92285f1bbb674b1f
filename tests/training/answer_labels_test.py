"""Tests for realm_tf.training.answer_labels."""

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.training import answer_labels
from tests import fakes
from tests import tiny

_TEXTS = ['a b . c d', 'e a b f', 'd d d d', 'f']


def _labels(*questions, **changes):
  table = fakes.FakeTable(tiny.TOKENIZER, ['a', 'b', 'c', 'd'], _TEXTS)
  config = tiny.config(finetuning=changes).finetuning
  tokenized = answer_labels.tokenize(questions, tiny.TOKENIZER, 6)
  return answer_labels.AnswerLabels(
    tokenized, table, tiny.TOKENIZER, config=config
  )


class AnswerLabelsTest(absltest.TestCase):
  def test_finds_each_of_the_answers(self):
    labels = _labels(
      questions_lib.Question('?', ('c d', 'f')),
      questions_lib.Question('?', ('[c] d', 'f$'), regex=True),
    )
    for row in (0, 1):
      self.assertFalse(labels.label(row, np.array([-1, -1]))[0].any())
      has_answer, is_compared = labels.label(row, np.array([3, -1, 2, 0, 1]))
      self.assertEqual(has_answer.tolist(), [True, False, False, True, True])
      self.assertEqual(is_compared.tolist(), [True, False, True, True, True])

  def test_blocks_of_paths_have_labels_in_the_same_places(self):
    labels = _labels(
      questions_lib.Question('?', ('f',)), questions_lib.Question('?', ('a',))
    )
    paths = np.array([[[3, 2], [-1, 1]], [[0, 2], [3, 1]]])
    has_answer, is_compared = labels.compare(np.array([0, 1]), paths)
    self.assertEqual(
      has_answer.tolist(),
      [[[True, False], [False, True]], [[True, False], [False, True]]],
    )
    np.testing.assert_array_equal(is_compared, paths >= 0)

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
    found = labels.label(0, np.array([2, 0]))[0]
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
      (0, [True, False, True, True, False]),  # Block 2 has a d, 0 is gold.
      (1, [True] * 4 + [False]),  # Without a gold block both are positives.
      (2, [True] * 4 + [False]),  # Only the gold block matches.
    ):
      self.assertEqual(labels.label(row, ids)[1].tolist(), expected)

  def test_blocks_that_hold_answers_of_several_questions(self):
    labels = _labels(
      questions_lib.Question('?', ('f', 'c d')),
      questions_lib.Question('?', ('a .* f',), regex=True),
    )
    held = labels.hold_text(np.array([1, 0]), np.array([1, 2, 1, 0]))
    self.assertEqual(
      held.tolist(), [[True, False, True, False], [True, False, True, True]]
    )


class CheckTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._table = tiny.open_corpus(self.create_tempdir().full_path)

  def _check(self, *given, **more):
    questions = answer_labels.tokenize(given, tiny.TOKENIZER, 6)
    answer_labels.check(questions, self._table, length=20, **more)

  def test_one_answer_in_the_corpus_suffices(self):
    none = questions_lib.Question('Who?', ('a a a a a a a a a',))
    last = self._table.texts([self._table.num_blocks - 1])[0]
    self._check(none, questions_lib.Question('?', (last,)))
    with self.assertRaisesRegex(
      errors.UserError, r"none of the first 1 .*'Who\?'"
    ):
      self._check(none)

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
