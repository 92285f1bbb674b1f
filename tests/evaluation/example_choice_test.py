"""Tests for realm_tf.evaluation.example_choice."""

import json
from types import SimpleNamespace

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import example_choice
from tests import tiny

# Article of each block.
_ARTICLES = ['peru', 'peru', 'peru', 'chad', 'oman', 'fiji', 'mali']


_TABLE = SimpleNamespace(
  article_ids=lambda ids: [_ARTICLES[i] for i in ids],
  article_blocks=lambda block_id: np.flatnonzero(
    [each == _ARTICLES[block_id] for each in _ARTICLES]
  ),
)


def _question(text, article, relation, answers=('yes',)):
  return questions_lib.Question(
    text, tuple(answers), False, f'{article}/{relation}', article
  )


class QuestionsTest(absltest.TestCase):
  def _choose(self, *rows, questions=()):
    """Rows are (question, article, relation, answer, block, probability)."""
    questions = [*questions, *(_question(*row[:3]) for row in rows)]
    lines = [
      json.dumps(
        {
          'question': row[0],
          'prediction': row[3],
          'probability': row[5],
          'is_refused': row[5] < 0.1,
          'evidence': [{'block_id': row[4]}],
        }
      )
      for row in rows[::-1]
    ]
    path = self.create_tempfile(content='\n'.join(lines)).full_path
    return example_choice.questions(path, questions, _TABLE)

  def test_leaves_out_wrong_and_unlikely_answers_and_other_articles(self):
    chosen = self._choose(
      ('Wrong?', 'peru', 'a', 'no', 0, 0.99),
      ('Elsewhere?', 'chad', 'b', 'yes', 4, 0.99),
      ('Unlikely?', 'fiji', 'd', 'yes', 5, 0.65),
      ('Right?', 'oman', 'c', 'Yes.', 4, 0.67),
    )
    self.assertEqual(chosen, ['Right?'])

  def test_differ_in_article_and_relation_while_there_are_others(self):
    chosen = self._choose(
      ('Peru a?', 'peru', 'a', 'yes', 0, 0.99),
      ('Peru b?', 'peru', 'b', 'yes', 1, 0.98),
      ('Chad a?', 'chad', 'a', 'yes', 3, 0.97),
      ('Oman c?', 'oman', 'c', 'yes', 4, 0.70),
    )
    self.assertEqual(chosen, ['Peru a?', 'Oman c?', 'Chad a?'])

  def test_the_likely_ones_in_plain_words_of_long_articles_come_first(self):
    chosen = self._choose(
      ('unsure?', 'mali', 'e', 'yes', 6, 0.99),  # Not written in full.
      ('Less likely?', 'fiji', 'd', 'yes', 5, 0.70),
      ('Oman?', 'oman', 'c', 'yes', 4, 0.97),
      ('Well, Chad?', 'chad', 'b', 'yes', 3, 0.98),  # "Well" says nothing.
      ('Peru or more?', 'peru', 'a', 'yes', 1, 0.96),
    )
    self.assertEqual(
      chosen,
      ['Peru or more?', 'Oman?', 'Well, Chad?', 'Less likely?', 'unsure?'],
    )

  def test_are_at_most_six_and_have_answers(self):
    rows = [
      (f'Q{i}?', '', '', 'yes', 0, 0.9) for i in range(8)
    ]  # fmt: skip
    chosen = self._choose(*rows, questions=[_question('None?', '', '', ())])
    self.assertLen(chosen, 6)

  def test_a_question_without_a_prediction_is_a_mistake(self):
    with self.assertRaisesRegex(errors.UserError, "answer to 'Other"):
      self._choose(
        ('Oman?', 'oman', 'c', 'yes', 4, 0.97),
        questions=[_question('Other?', 'oman', 'd')],
      )


class SentencesTest(absltest.TestCase):
  def _choose(self, replies, sentences):
    queries = tiny.open_queries(self.create_tempdir().full_path, sentences)

    def complete(sentence):
      if sentence not in replies:
        raise errors.RequestError('Too long.')
      best, probability, alone = replies[sentence]
      return {
        'with_retrieval': [[{'word': best, 'probability': probability}]],
        'without_retrieval': [[{'word': alone, 'probability': 0.5}]],
      }

    return example_choice.sentences(complete, queries, tiny.TOKENIZER)

  def test_are_completed_right_and_by_retrieval_if_possible(self):
    chosen = self._choose(
      {
        'A [MASK] c.': ('b', 0.9, 'f'),
        'B [MASK] c.': ('d', 0.99, 'd'),  # Right without retrieval, too.
        'C [MASK] a.': ('f', 0.99, 'f'),  # Wrong.
        'E [MASK] a.': ('f', 0.7, 'a'),  # Unsure.
        'D [MASK] a.': ('c', 0.6, 'a'),  # Unlikely.
      },
      [
        ('A b c.', [[1, 2]], 0),
        ('B d c.', [[1, 2]], 0),
        ('C e a.', [[1, 2]], 0),
        ('E f a.', [[1, 2]], 0),
        ('D c a.', [[1, 2]], 0),
        ('A b c d e.', [[1, 3]], 0),  # Two wordpieces.
        ('F a b.', [[1, 2]], 0),  # Refused.
      ],
    )
    self.assertEqual(chosen, ['A [MASK] c.', 'B [MASK] c.', 'E [MASK] a.'])

  def test_miss_different_words(self):
    chosen = self._choose(
      {'A [MASK] c.': ('b', 0.9, 'f'), 'C [MASK] c.': ('b', 0.9, 'f')},
      [('A b c.', [[1, 2]], 0), ('C b c.', [[1, 2]], 0)],
    )
    self.assertLen(chosen, 1)


if __name__ == '__main__':
  absltest.main()
