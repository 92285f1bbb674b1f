"""Tests for realm_tf.text.question_words."""

import random

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import question_words


def _found(sentence):
  return [
    (each.kind, sentence[each.start : each.end])
    for each in question_words.answers(sentence)
  ]


def _asked(sentence, text, title=''):
  """Returns all questions for the span `text` in any order of their parts."""
  (answer,) = (
    each
    for each in question_words.answers(sentence)
    if sentence[each.start : each.end] == text
  )
  return {
    question_words.ask(sentence, answer, title, random.Random(seed))
    for seed in range(60)
  }


class AnswersTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      'After Rome, the mill of Tern Point was sold to Ada Lund in May 1931.',
      [
        ('name', 'Rome'),
        ('phrase', 'the mill'),
        ('name', 'Tern Point'),
        ('name', 'Ada Lund'),
        ('date', 'May 1931'),
      ],
    ),
    (
      'In 1901 it had 45 rooms, 12 percent of them cold, for $3 million.',
      [
        ('year', '1901'),
        ('number', '45'),
        ('share', '12 percent'),
        ('money', '$3 million'),
      ],
    ),
    # A first word alone is no name; an adjective of a people is none.
    ('Mills grind; Danish mills ground two tons.', [('number', 'two')]),
    ("Lund's son saw Ada Lund's mill.", [('name', 'Ada Lund')]),
  )
  def test_finds_spans_and_their_kinds(self, sentence, expected):
    self.assertEqual(_found(sentence), expected)


class AskTest(parameterized.TestCase):
  def test_a_subject_is_replaced_by_its_word(self):
    self.assertEqual(
      _asked('Ada Lund founded the mill near the old harbour.', 'Ada Lund'),
      {f'{word} founded the mill near the old harbour?' for word in ['Who']},
    )

  def test_an_auxiliary_comes_before_the_subject(self):
    asked = _asked('The mill was sold to a baker in 1931.', '1931')
    self.assertContainsSubset(
      {
        'When was the mill sold to a baker?',
        'In what year was the mill sold to a baker?',
        'When the mill was sold to a baker?',
        'The mill was sold to a baker when?',
      },
      asked,
    )

  def test_a_noun_stays_with_how_many(self):
    asked = _asked('The mill had 45 rooms for guests.', '45')
    self.assertIn('How many rooms for guests the mill had?', asked)

  def test_only_the_clause_is_asked_for(self):
    asked = _asked(
      'It was old; the mill (a wind mill) was built by Ada Lund, who died.',
      'Ada Lund',
    )
    self.assertIn('Who was the mill built by?', asked)
    for question in asked:
      self.assertNotRegex(question, 'old|wind|died')

  def test_the_title_stands_for_a_pronoun(self):
    for question in _asked('It was built by Ada Lund.', 'Ada Lund', 'The Mill'):
      self.assertIn('The Mill'.lower(), question.lower())

  def test_too_few_words_ask_nothing(self):
    self.assertEqual(_asked('He met Ada Lund.', 'Ada Lund'), {None})


if __name__ == '__main__':
  absltest.main()
