"""Tests for realm_tf.qa.comparison."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import comparison

_QUESTIONS = [
  questions_lib.Question(f'q{i}', (answer,))
  for i, answer in enumerate(['Rome', 'Paris', 'Oslo', 'Bern'])
]


def _p_value(only_this, only_other):
  this = np.arange(only_this + only_other) < only_this
  return comparison.p_value(this, ~this)


class McNemarTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, 0, 1.0),
    # 1 of 2^5 sequences of throws has no head: 2 * 1 / 32.
    (5, 0, 2 / 32),
    # (1 + 10) of 2^10 have at most one: 2 * 11 / 1024.
    (1, 9, 22 / 1024),
    (9, 1, 22 / 1024),
    (4, 4, 1.0),  # 2 * P(at most 4 of 8) is above 1.
    (1, 0, 1.0),
  )
  def test_matches_hand_computation(self, this, other, expected):
    self.assertAlmostEqual(_p_value(this, other), expected)

  def test_many_questions(self):
    # Fifty standard deviations from the mean: below any float, without error.
    self.assertEqual(_p_value(9000, 10), 0.0)
    # A normal approximation: z = (|500 - 560| - 1) / sqrt(1060) = 1.812.
    self.assertAlmostEqual(_p_value(500, 560), 0.0700, places=3)


class OtherTest(absltest.TestCase):
  def _write(self, rows):
    directory = self.create_tempdir().full_path
    with open(os.path.join(directory, 'predictions.jsonl'), 'w') as file:
      file.writelines(json.dumps(row) + '\n' for row in rows)
    return directory

  def _run(self, predictions):
    return self._write(
      {'question': question.question, 'prediction': prediction}
      for question, prediction in zip(_QUESTIONS, predictions)
    )

  def test_counts_and_lists_the_differences(self):
    directory = self._run(['rome', 'Lyon', 'oslo', 'x'])
    other = comparison.Other(directory, _QUESTIONS)
    counts, rows = other.compare(['Rome', 'paris', 'y', 'z'])
    # This run is right on 0 and 1, the other on 0 and 2.
    self.assertEqual([*counts.values()], [50.0, 50.0, 1, 1, 1, 1, 1.0])
    self.assertEqual(
      rows,
      [
        {
          'question': 'q1',
          'answers': ['Paris'],
          'prediction': 'paris',
          'other_prediction': 'Lyon',
          'right': 'this',
        },
        {
          'question': 'q2',
          'answers': ['Oslo'],
          'prediction': 'y',
          'other_prediction': 'oslo',
          'right': 'other',
        },
      ],
    )
    text = comparison.as_text(counts)
    self.assertIn('only this 1  only other 1', text)
    self.assertIn('p = 1', text)

  def test_other_questions_are_a_user_error(self):
    swapped = self._run(['a', 'b', 'c', 'd'])
    with self.assertRaisesRegex(errors.UserError, r"'q0' in .*:1 .*'q3'"):
      comparison.Other(swapped, _QUESTIONS[::-1])
    with self.assertRaisesRegex(errors.UserError, '4 in .* have 3'):
      comparison.Other(swapped, _QUESTIONS[:3])

  def test_a_run_without_predictions(self):
    with self.assertRaisesRegex(errors.UserError, 'predictions.jsonl'):
      comparison.Other(self.create_tempdir().full_path, _QUESTIONS)
    broken = self._write([{'question': 'q0', 'prediction': None}])
    with self.assertRaisesRegex(errors.UserError, ':1 must have "prediction"'):
      comparison.Other(broken, _QUESTIONS[:1])


class RecalledTest(absltest.TestCase):
  def test_ranks_must_have_the_same_questions(self):
    directory = self.create_tempdir().full_path
    with self.assertRaisesRegex(errors.UserError, 'must have ranks.jsonl'):
      comparison.read_right(directory, _QUESTIONS, 'recall@5')
    with open(os.path.join(directory, 'ranks.jsonl'), 'w') as file:
      for question, rank in zip(_QUESTIONS, [1, None, 5, 6]):
        row = {'question': question.question, 'answer_rank': rank}
        file.write(json.dumps(row) + '\n')
    found = comparison.read_right(directory, _QUESTIONS, 'recall@5')
    self.assertEqual(found.tolist(), [True, False, True, False])
    with self.assertRaisesRegex(errors.UserError, '4 in .* have 3'):
      comparison.read_right(directory, _QUESTIONS[:3], 'recall@5')

  def test_a_line_without_a_rank_is_a_user_error(self):
    path = self.create_tempdir().create_file('ranks.jsonl').full_path
    for row in ({'question': 'q0'}, {'question': 'q0', 'answer_rank': '1'}):
      with open(path, 'w') as file:
        file.write(json.dumps(row) + '\n')
      with self.assertRaisesRegex(
        errors.UserError, ':1 must have "answer_rank"'
      ):
        comparison.read_right(os.path.dirname(path), _QUESTIONS[:1], 'recall@5')


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
    rows = comparison.systems(
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
    first, second = comparison.systems(paths, _QUESTIONS, with_costs=True)
    self.assertEqual((first['p'], second['p']), (1.0, 2 / 16))
    self.assertEqual((second['parameters'], second['megabytes']), (3, 4.0))

  def test_a_missing_evaluation_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'Found no missing/metrics'):
      comparison.systems({'a': 'missing'}, [])


if __name__ == '__main__':
  absltest.main()
