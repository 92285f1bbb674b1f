"""Tests for launch.quickstart_summary, on made-up figures."""

import json

from absl.testing import absltest

from launch import quickstart_summary

_SYSTEMS = 'REALM', 'REALM with BM25', 'ICT', 'BM25'


def _table(number, values, ps):
  return [
    {
      'system': f'{name} after {number} questions',
      'exact_match': value,
      'interval': [value - 2.0, value + 1.0],
      'p': p,
    }
    for name, value, p in zip(_SYSTEMS, values, ps, strict=True)
  ]


def _prediction(question, answer, is_right, titles=(), is_refused=False):
  return {
    'question': question,
    'prediction': answer,
    'exact_match': is_right,
    'is_refused': is_refused,
    'evidence': [{'title': title} for title in titles],
  }


class QuickstartSummaryTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir()
    for name, number in (
      ('articles', 3),
      ('sentences', 1234),
      ('train_questions', 7),
      ('test_questions', 2),
    ):
      self.folder.create_file(f'world/{name}.jsonl', '{}\n' * number)
    self._write_results('', [90.0, 92.0, 80.0, 70.0], [1, 0.01, 0.01, 0.01])
    self._write_results(
      'reworded_', [50.0, 40.0, 70.0, 51.0], [1, 0.01, 0.01, 0.6]
    )
    self._write_results('unseen_', [60.0, 59.0, 58.0, 57.0], [1, 1, 0.01, 0.01])
    sets = {
      'test_questions': {'refused_answerable': 4.25},
      'missing_test_questions': {'refused_impossible': 88.0},
      'foreign_test_questions': {'refused_impossible': 96.0},
    }
    self.folder.create_file(
      'eval/realm_all/sparse_2/metrics.json', json.dumps({'sets': sets})
    )
    self._write_lines(
      'eval/realm_all/sparse_2/test_questions',
      _prediction('Who?', 'Ann', True, ['Ann', 'Bo']),
      _prediction('Where?', '', False),
      _prediction('When?', '1900', False, ['Rome'], is_refused=True),
    )
    self._write_lines(
      'changed/answer', _prediction('Who?', 'Bo', True, ['Ann'])
    )
    change = {'question': 'Who?', 'old_answer': 'Ann', 'new_answer': 'Bo'}
    self.folder.create_file('changed/changed.json', json.dumps(change))

  def _write_results(self, words, values, ps):
    tables = [
      _table('0', [10.0] * 4, [1] * 4),
      _table('1000', [30.0] * 4, [1] * 4),
      _table('all', values, ps),
    ]
    path = f'{words}results.json'
    self.folder.create_file(path, json.dumps({'tables': tables}))

  def _write_lines(self, folder, *rows):
    text = ''.join(json.dumps(row) + '\n' for row in rows)
    self.folder.create_file(f'{folder}/predictions.jsonl', text)

  def _summary(self):
    return quickstart_summary.summary(self.folder.full_path).splitlines()

  def test_the_figures_are_in_one_table(self):
    lines = self._summary()
    self.assertIn('3 articles from 1,234 sentences', lines[0])
    self.assertEqual(
      [line.split() for line in lines[3:9]],
      [
        ['training', 'questions', '0', '1000', 'all'],
        ['In', 'the', "articles'", 'words'],
        ['REALM', '10.0', '±1.5', '30.0', '±1.5', '90.0', '±1.5'],
        ['REALM', 'with', 'BM25', *'10.0 ±1.5 30.0 ±1.5 92.0 ±1.5'.split()],
        ['ICT', '10.0', '±1.5', '30.0', '±1.5', '80.0', '±1.5'],
        ['BM25', '10.0', '±1.5', '30.0', '±1.5', '70.0', '±1.5'],
      ],
    )
    self.assertEqual(lines[9], 'In other words')
    self.assertLess(max(map(len, lines[:19])), 82)

  def test_unseen_forms_and_refusals_have_lines(self):
    lines = self._summary()
    self.assertIn('In forms never seen in training', lines)
    said = '\n'.join(lines)
    self.assertIn('4.2 % of the questions whose', said)
    self.assertIn(
      '88.0 % of those about facts that an article leaves out, 96.0 % of those '
      'about other subjects.',
      said,
    )

  def test_answers_have_their_source(self):
    lines = self._summary()
    for line in (
      'Who? Ann (from "Ann", right)',
      'Where? - (wrong)',
      'When? The corpus does not seem to say. Best guess: 1900 (from "Rome", '
      'wrong)',
      'Who? Bo (from "Ann", right)',
    ):
      self.assertIn(f'  {line}', lines)

  def test_the_first_table_has_both_wordings(self):
    for name, value in (
      ('realm/sparse_0', 1.0),
      ('realm/sparse_2', 2.0),
      ('ict', 3.0),
      ('bm25', 4.0),
    ):
      for words, more in (('', 0.0), ('reworded_', 0.5)):
        recall = {f'recall@{k}': value + more for k in (1, 5, 20)}
        path = f'eval/retrieval_{name}/{words}test_questions/metrics.json'
        self.folder.create_file(path, json.dumps(recall))
    table = quickstart_summary.first_table(self.folder.full_path)
    rows = [line.split() for line in table.splitlines()[2:]]
    self.assertEqual(rows[2], ['ICT', *['3.0'] * 3, *['3.5'] * 3])
    self.assertEqual(rows[1][-1], '2.5')


if __name__ == '__main__':
  absltest.main()
