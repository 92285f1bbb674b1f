"""Tests for realm_tf.training.answerable."""

import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.training import answer_labels
from realm_tf.training import answerable
from tests import tiny


class CheckTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = os.path.join(self.create_tempdir().full_path, 'corpus')
    os.mkdir(folder)
    self._table = tiny.open_corpus(folder)

  def _check(self, *given, **more):
    answers = answer_labels.tokenize(given, tiny.TOKENIZER, 6).answers
    answerable.check(given, answers, self._table, length=20, **more)

  def test_one_answer_in_the_corpus_will_do(self):
    text = self._table.texts([self._table.num_blocks - 1])[0]
    first, last = text.split()[0], text.split()[-2]
    for answer in (first, last, text):
      self._check(
        questions_lib.Question('?', ('a a a a a a a a a',)),
        questions_lib.Question('?', (answer,)),
      )

  @parameterized.parameters(1, 3, 20)
  def test_without_any_it_is_a_user_error(self, width):
    answer = ' '.join(['a'] * width) + ' ' + ' '.join(['b b'] * width)
    with self.assertRaisesRegex(errors.UserError, r"none of 1 .*'Who\?'"):
      self._check(questions_lib.Question('Who?', (answer + ' a a',)))

  def test_regular_expressions_may_stand_anywhere(self):
    self._check(questions_lib.Question('?', ('zzz.*',), regex=True))

  def test_articles_that_the_corpus_lacks_are_told_or_refused(self):
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
