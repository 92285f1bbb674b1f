"""Tests for realm_tf.training.answer_labels and cloze_questions."""

import dataclasses
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import held_out
from realm_tf.training import answer_labels
from realm_tf.training import cloze_questions
from realm_tf.training import job
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

  def test_a_question_without_any_block(self):
    labels = _labels(questions_lib.Question('?', ('f',)))
    for ids in ([-1, -1], [3, -1]):
      found = labels.has_answer(0, np.array(ids))
      self.assertEqual(found.tolist(), [i == 3 for i in ids])

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
      supervision='gold',
    )
    self.assertEqual(labels.gold(0).tolist(), [0])
    self.assertEqual(labels.gold(1).tolist(), [])
    self.assertEqual(labels.gold(2).tolist(), [])
    found = labels.has_answer(0, np.array([2, 0]))
    self.assertEqual(found.tolist(), [False, True])  # Block 2 has a d, too.

  def test_a_gold_block_counts_before_its_articles(self):
    given = [
      questions_lib.Question('?', ('d',), gold_id='article 0', gold_block=2),
      questions_lib.Question('?', ('c',), gold_id='article 0', gold_block=2),
      questions_lib.Question('?', ('c',), gold_block=2),
    ]
    for supervision, expected in (
      # Block 2 has no c.
      ('gold', [[2], [0], []]),
      ('answer', [[], [], []]),
    ):
      labels = _labels(*given, supervision=supervision)
      self.assertEqual([labels.gold(i).tolist() for i in range(3)], expected)

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
    with self.assertRaisesRegex(errors.UserError, r"none of 1 .*'Who\?'"):
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


_BLOCKS = [0, 2, 1]  # Hits of every query, best first; only block 1 has 'f'.
_QUERIES = [
  ('A b.', [[0, 1]], 0),  # Blocks 2 and 1: the second has 'a'.
  ('F a.', [[0, 1]], 1),  # Blocks 0 and 2: neither has 'f'.
  ('B d.', [[1, 2]], 2),  # Blocks 0 and 1: the first has 'd'.
]


class ClozeQuestionsTest(absltest.TestCase):
  def _ask(self, queries, held_out_share=0.0, num_steps=1, num_others=0):
    directory = self.create_tempdir().full_path
    self.table = tiny.open_corpus(directory)
    config = dataclasses.replace(
      config_lib.ExperimentConfig(),
      held_out=config_lib.HeldOutConfig(share=held_out_share),
      finetuning=config_lib.FinetuningConfig(
        optimizer=config_lib.OptimizerConfig(1e-3, num_steps),
        batch_size=1,
        sentence_share=0.25,
      ),
    )
    inputs = job.Inputs(
      config, directory, self.table, tiny.TOKENIZER, (0, 0), np.zeros(0)
    )
    return cloze_questions.from_sentences(
      tiny.open_queries(directory, queries),
      inputs,
      fakes.FakeRetriever(_BLOCKS, [0.0] * 3),
      num_others,
    )

  def test_a_blank_replaces_a_name_that_another_block_has(self):
    found = self._ask(_QUERIES, num_steps=3)
    gold = self.table.article_ids([1, 0])
    self.assertCountEqual(
      found,
      [
        questions.Question('what b.', ('A',), False, 'cloze-0', gold[0]),
        questions.Question('B what.', ('d',), False, 'cloze-2', gold[1]),
      ],
    )

  def test_held_out_articles_make_no_questions(self):
    share = 0.5
    found = self._ask(_QUERIES, share)
    kept = ~held_out.blocks(self.table, share)[[0, 2]]
    self.assertNotIn(kept.sum(), (0, 2))  # Both kinds must occur.
    self.assertEqual(
      {question.question_id for question in found},
      set(np.array(['cloze-0', 'cloze-2'])[kept]),
    )

  def test_sentences_beyond_the_last_step_are_not_searched(self):
    queries = [('A b.', [[0, 1]], 0)] * 1200
    self.assertLen(self._ask(queries, num_steps=600), 1024)  # Two chunks.
    self.assertLen(self._ask(queries, num_steps=2000), 1200)

  def test_sentences_are_a_share_next_to_other_questions(self):
    queries = [('A b.', [[0, 1]], 0)] * 60
    self.assertLen(self._ask(queries, num_steps=600, num_others=120), 40)
    self.assertLen(self._ask(queries, num_steps=600, num_others=1200), 60)
    self.assertLen(self._ask(queries, num_steps=30, num_others=120), 30)

  def test_no_question_at_all_is_an_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none for 1 sentences'):
      self._ask(_QUERIES[1:2])


if __name__ == '__main__':
  absltest.main()
