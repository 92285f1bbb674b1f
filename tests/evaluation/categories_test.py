"""Tests for realm_tf.evaluation.categories."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import categories


class CategoriesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('Who is it?', 'who'),
    ("Who's that?", 'who'),
    ('To whom is it given?', 'who'),
    ('In which year was it?', 'which'),
    ('How many are there?', 'how many'),
    ('how much is it', 'how many'),
    ('How is it made?', 'how'),
    ('Whatever is showing.', 'other'),
    ('What is where it was?', 'what'),  # The first one.
  )
  def test_wh_word(self, question, expected):
    self.assertEqual(categories.wh_word(question), expected)

  @parameterized.parameters(
    ('1945', 'number or date'),
    ('May', 'number or date'),
    ('Two hundred', 'number or date'),
    ('two people', 'number or date'),
    ('Ludwig van Beethoven', 'name'),
    ('the United Nations', 'name'),
    ('\u00c9douard', 'name'),
    ('may', 'other'),
    ('someone', 'other'),
  )
  def test_answer_type(self, answer, expected):
    question = questions_lib.Question('q', (answer, 'X'))
    self.assertEqual(categories.answer_type(question), expected)

  def test_a_regular_expression_has_no_type(self):
    question = questions_lib.Question('q', (r'19\d\d',), regex=True)
    self.assertEqual(categories.answer_type(question), 'pattern')

  def test_means_of_each_category(self):
    questions = [
      questions_lib.Question('Who?', ('Bell',)),
      questions_lib.Question('When?', ('1945',)),
      questions_lib.Question('Who?', ('42',)),
    ]
    exact = np.array([1.0, 1.0, 0.0])
    found = categories.by_category(questions, {'exact_match': exact})
    self.assertEqual(
      found,
      {
        'wh_word': {
          'who': {'num_questions': 2, 'exact_match': 50.0},
          'when': {'num_questions': 1, 'exact_match': 100.0},
        },
        'answer_type': {
          'number or date': {'num_questions': 2, 'exact_match': 50.0},
          'name': {'num_questions': 1, 'exact_match': 100.0},
        },
      },
    )
    self.assertEqual(list(found['wh_word']), ['who', 'when'])
    lines = [line.split() for line in categories.table(found).splitlines()]
    self.assertEqual(lines[0], ['wh_word', 'num_questions', 'exact_match'])
    self.assertEqual(lines[1], ['who', '2', '50.0'])
    self.assertEqual(lines[-1], ['name', '1', '100.0'])


if __name__ == '__main__':
  absltest.main()
