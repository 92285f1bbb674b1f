"""Tests for launch.quickstart_summary, on made-up figures."""

import json
import re

from absl.testing import absltest

from launch import quickstart_summary
from tests import source_tree

_SYSTEMS = 'REALM', 'REALM with BM25', 'ICT', 'BM25'
_BEST = 'eval/realm_all/sparse_2'


def _table(number, *values):
  return [
    {
      'system': f'{name} after {number} questions',
      'exact_match': value,
      'interval': [value - 2.0, value + 1.0],
    }
    for name, value in zip(_SYSTEMS, values, strict=True)
  ]


def _lines(*rows):
  return ''.join(json.dumps(row) + '\n' for row in rows)


def _prediction(question, answer, is_right, title='', is_refused=False):
  return {
    'question': question,
    'prediction': answer,
    'exact_match': is_right,
    'is_refused': is_refused,
    'evidence': [{'title': title}, {'title': 'Bo'}] if title else [],
  }


def _refused(answerable, missing, foreign):
  return {
    'test_questions': {'refused_answerable': answerable},
    'missing_test_questions': {'refused_impossible': missing},
    'foreign_test_questions': {'refused_impossible': foreign},
  }


class QuickstartSummaryTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir()
    sizes = {'articles': 3, 'sentences': 1234}
    sizes |= {'train_questions': 7, 'test_questions': 2}
    tables = [
      _table('0', 10, 10, 10, 10),
      _table('1000', 30, 30, 30, 30),
      _table('all', 90, 92, 80, 70),
    ]
    sets = _refused(4.25, 88.0, 96.0)
    changed = _lines(
      _prediction('Who?', 'Bo', True, 'Ann'),
      _prediction('Where?', '', False),
      _prediction('When?', '1900', False, 'Rome', is_refused=True),
    )
    examples = {'questions': ['Why?', 'Is it?', 'How?', 'No?'], 'masked': []}
    change = {'question': 'Who?', 'old_answer': 'Ann', 'new_answer': 'Bo'}
    for path, text in {
      **{f'world/{name}.jsonl': '{}\n' * n for name, n in sizes.items()},
      **{
        f'{words}comparison.json': json.dumps({'tables': tables})
        for words in ('', 'reworded_', 'unseen_')
      },
      f'{_BEST}/metrics.json': json.dumps({'sets': sets}),
      'examples.json': json.dumps(examples),
      'changed/answer/predictions.jsonl': changed,
      'changed/changed.json': json.dumps(change),
    }.items():
      self.folder.create_file(path, text)

  def test_the_summary_has_figures_refusals_and_answers_with_their_source(self):
    lines = quickstart_summary.summary(
      self.folder.full_path, compare=True
    ).splitlines()
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
    said = '\n'.join(lines)
    for part in (
      '4.2 % of the questions whose answer is in the articles,',
      '88.0 % of those about facts that an article leaves out,',
      '96.0 % of those about other subjects.',
      'Questions to try:\n  Why?\n  Is it?\n  How?\n',
      '  Where? - (wrong)\n',
      '  When? The corpus does not seem to say. Best guess: 1900 (from "Ro',
      '  Who? Bo (from "Ann", right)\n',
    ):
      self.assertIn(part, said)

  def test_readme_prints_what_the_quickstart_prints(self):
    text = (source_tree.ROOT / 'README.md').read_text()
    block = re.search(r'\n\n(    REALM learned(?:.*\n)+?)\n\(', text)[1]
    lines = [line.removeprefix('    ') for line in block.splitlines()]
    sizes = re.findall(r'\d[\d,]*(?= [a-z])', '\n'.join(lines[:3]))
    for name, size in zip(
      ('articles', 'sentences', 'train_questions', 'test_questions'),
      [each for each in sizes if each != '95'],
      strict=True,
    ):
      text = '\n' * int(size.replace(',', ''))
      self.folder.create_file(f'world/{name}.jsonl', text)
    rows = [re.findall(r'([0-9.]+) ±([0-9.]+)', line) for line in lines[4:7]]
    for column, words in enumerate(('', 'reworded_', 'unseen_')):
      table = [
        {
          'system': system,
          'exact_match': float(row[column][0]),
          'interval': [0, 2 * float(row[column][1])],
        }
        for system, row in zip(quickstart_summary.SYSTEMS, rows, strict=True)
      ]
      results = json.dumps({'tables': [table]})
      self.folder.create_file(f'{words}results.json', results)
    refused = re.findall(r'([0-9.]+) %', '\n'.join(lines[8:12]))
    sets = _refused(*map(float, refused))
    self.folder.create_file(f'{_BEST}/metrics.json', json.dumps({'sets': sets}))
    questions = [line.strip() for line in lines[-3:]]
    examples = {'questions': questions, 'masked': []}
    self.folder.create_file('examples.json', json.dumps(examples))
    said = quickstart_summary.summary(self.folder.full_path, compare=False)
    self.assertEqual(said.splitlines()[: len(lines)], lines)
    self.assertIn('--compare', said.splitlines()[-1])

  def test_the_first_table_has_both_wordings(self):
    searches = 'realm/sparse_0', 'realm/sparse_2', 'ict', 'bm25'
    for value, name in enumerate(searches, start=1):
      for words, more in (('', 0.0), ('reworded_', 0.5)):
        recall = {f'recall@{k}': value + more for k in (1, 5, 20)}
        path = f'eval/retrieval_{name}/{words}test_questions/metrics.json'
        self.folder.create_file(path, json.dumps(recall))
    table, short = (
      quickstart_summary.first_table(self.folder.full_path, compare=compare)
      for compare in (True, False)
    )
    self.assertEqual(short.count('\n') + 1, table.count('\n'))
    rows = [line.split() for line in table.splitlines()[2:]]
    self.assertEqual(rows[2], ['ICT', *['3.0'] * 3, *['3.5'] * 3])
    self.assertEqual(rows[1][-1], '2.5')


if __name__ == '__main__':
  absltest.main()
