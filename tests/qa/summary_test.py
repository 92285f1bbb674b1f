"""Tests for realm_tf.qa.summary."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import stats

from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import summary


class BootstrapTest(absltest.TestCase):
  def test_matches_the_binomial_distribution(self):
    # Half of 400 questions are right: the mean's standard deviation is
    # sqrt(1/4 / 400) = 0.025, and 95 % lie within 1.96 of them.
    values = np.repeat([[0.0], [1.0]], 200, axis=0)
    ((low, high),) = summary.bootstrap(values, num_resamples=4000)
    self.assertAlmostEqual(low, 0.5 - 1.96 * 0.025, delta=0.004)
    self.assertAlmostEqual(high, 0.5 + 1.96 * 0.025, delta=0.004)

  def test_constant_values_have_an_interval_without_width(self):
    ends = summary.bootstrap(np.array([[1.0, 0.0, 0.3]] * 5))
    np.testing.assert_allclose(ends, [[1, 1], [0, 0], [0.3, 0.3]])

  def test_metrics_share_draws_that_depend_on_the_seed(self):
    values = np.random.default_rng(0).random([30, 1])
    both = summary.bootstrap(np.hstack([values, 1 - values]))
    np.testing.assert_allclose(both[1], 1 - both[0, ::-1])
    np.testing.assert_allclose(both[:1], summary.bootstrap(values))
    self.assertNotEqual(
      summary.bootstrap(values, seed=1).tolist(), both[:1].tolist()
    )

  def test_agrees_with_scipy(self):
    values = np.random.default_rng(0).random([50, 3])
    expected = stats.bootstrap(
      (values,), np.mean, n_resamples=1000, method='percentile', rng=5
    ).confidence_interval
    np.testing.assert_allclose(
      summary.bootstrap(values, seed=5), np.transpose(expected), rtol=1e-9
    )


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
    self.assertEqual(summary.wh_word(question), expected)

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
    self.assertEqual(summary.answer_type(question), expected)

  def test_a_regular_expression_has_no_type(self):
    question = questions_lib.Question('q', (r'19\d\d',), regex=True)
    self.assertEqual(summary.answer_type(question), 'pattern')

  def test_means_of_each_category(self):
    questions = [
      questions_lib.Question('Who?', ('Bell',)),
      questions_lib.Question('When?', ('1945',)),
      questions_lib.Question('Who?', ('42',)),
    ]
    exact = np.array([1.0, 1.0, 0.0])
    found = summary.by_category(questions, {'exact_match': exact})
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
    lines = summary.category_table(found).splitlines()
    rows = [line.split() for line in lines]
    self.assertEqual(rows[0], ['wh_word', 'num_questions', 'exact_match'])
    self.assertEqual(rows[1], ['who', '2', '50.0'])
    self.assertEqual(rows[-1], ['name', '1', '100.0'])


class TableTest(absltest.TestCase):
  def test_cells_by_kind_in_aligned_columns(self):
    rows = [
      {'system': 'a', 'number': 12345, 'interval': [1.25, 2.0]},
      {'system': 'bm25', 'p': 0.0123, 'share': 61.55},
    ]
    self.assertEqual(
      summary.table(rows).splitlines(),
      [
        'system  number    interval      p  share',
        '     a  12,345  1.2 to 2.0      -      -',
        '  bm25       -           -  0.012   61.5',
      ],
    )


if __name__ == '__main__':
  absltest.main()
