"""Tests for realm_tf.qa.summary."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import summary


class BootstrapTest(absltest.TestCase):
  def test_metrics_share_draws_that_depend_on_the_seed(self):
    values = np.random.default_rng(0).random([30, 1])
    both = summary.bootstrap(np.hstack([values, 1 - values]))
    np.testing.assert_allclose(both[1], 1 - both[0, ::-1])
    np.testing.assert_allclose(both[:1], summary.bootstrap(values))
    self.assertNotEqual(
      summary.bootstrap(values, seed=1).tolist(), both[:1].tolist()
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
    (r'19\d\d', 'pattern', True),
  )
  def test_answer_type(self, answer, expected, regex=False):
    question = questions_lib.Question('q', (answer, 'X'), regex=regex)
    self.assertEqual(summary.answer_type(question), expected)

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


_QUESTIONS = [
  questions_lib.Question(f'q{i}', (answer,))
  for i, answer in enumerate(['Rome', 'Paris', 'Oslo', 'Bern'])
]


class McNemarTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, 0, 1.0),
    # 1 of 2^5 sequences of throws has no head: 2 * 1 / 32.
    (5, 0, 2 / 32),
    (4, 4, 1.0),  # 2 * P(at most 4 of 8) is above 1.
    # A normal approximation: z = (|500 - 560| - 1) / sqrt(1060) = 1.812.
    (500, 560, 0.0700),
  )
  def test_matches_hand_computation(self, this, other, expected):
    found = summary.p_value(
      np.arange(this + other) < this, np.arange(this + other) >= this
    )
    self.assertAlmostEqual(found, expected, places=3)


class ReadRightTest(absltest.TestCase):
  def test_ranks_must_have_the_same_questions(self):
    directory = self.create_tempdir().full_path
    with open(os.path.join(directory, 'ranks.jsonl'), 'w') as file:
      for question, rank in zip(_QUESTIONS, [1, None, 5, 6]):
        row = {'question': question.question, 'answer_rank': rank}
        file.write(json.dumps(row) + '\n')
    found = summary.read_right(directory, _QUESTIONS, 'recall@5')
    self.assertEqual(found.tolist(), [True, False, True, False])
    for others in (_QUESTIONS[:3], _QUESTIONS[::-1]):
      with self.assertRaisesRegex(errors.UserError, '4 in .*same questions'):
        summary.read_right(directory, others, 'recall@5')
    os.rename(f'{directory}/ranks.jsonl', f'{directory}/predictions.jsonl')
    with self.assertRaisesRegex(errors.UserError, ':1 .*prediction'):
      summary.read_right(directory, _QUESTIONS, 'exact_match')


def _metrics(first, prefix, intervals):
  """Returns fields of metrics.json: recall@1, @5 and @20 rise from `first`."""
  recall = {f'{prefix}recall@{k}': first + i for i, k in enumerate((1, 5, 20))}
  return {**recall, intervals: {f'{prefix}recall@5': [first, first + 2]}}


class SystemsTest(absltest.TestCase):
  def test_a_row_for_each_system(self):
    directory = self.create_tempdir()
    sentences = _metrics(10.0, 'span_', 'span_intervals')
    both = {**sentences, **_metrics(20.0, '', 'intervals')}
    for name, values in (('before', sentences), ('after', both)):
      directory.create_file(f'{name}/metrics.json', json.dumps(values))
    rows = summary.systems(
      {n: os.path.join(directory.full_path, n) for n in ('before', 'after')}, []
    )
    recall = {f'span_recall@{k}': 10.0 + i for i, k in enumerate((1, 5, 20))}
    self.assertEqual(
      rows[0], {'system': 'before', **recall, 'interval': [10.0, 12.0]}
    )
    # The interval of questions comes before the sentences'.
    self.assertEqual((rows[1]['recall@5'], rows[1]['span_recall@5']), (21, 11))
    self.assertEqual(rows[1]['interval'], [20.0, 22.0])

  def test_p_and_costs(self):
    directory = self.create_tempdir()
    for name, ranks in (('a', [1, 1, 1, 1]), ('b', [9, 9, 9, 9])):
      metrics = {**_metrics(20.0, '', 'intervals'), 'latency_ms_median': 2.0}
      metrics |= {'parameters': 3, 'megabytes': 4.0}
      directory.create_file(f'{name}/metrics.json', json.dumps(metrics))
      lines = [
        json.dumps({'question': q.question, 'answer_rank': rank})
        for q, rank in zip(_QUESTIONS, ranks)
      ]
      directory.create_file(f'{name}/ranks.jsonl', '\n'.join(lines))
    paths = {n: os.path.join(directory.full_path, n) for n in ('a', 'b')}
    first, second = summary.systems(paths, _QUESTIONS, with_costs=True)
    self.assertEqual((first['p'], second['p']), (1.0, 2 / 16))
    self.assertEqual((second['parameters'], second['megabytes']), (3, 4.0))


if __name__ == '__main__':
  absltest.main()
