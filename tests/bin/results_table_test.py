"""Tests what bin.results_table prints."""

import json
import os

from absl.testing import absltest

from tests import forked_binaries


def _metrics(first, prefix, intervals):
  """Returns metrics.json with recall@1 `first`, and one more at 5 and at 20."""
  recall = {f'{prefix}recall@{k}': first + i for i, k in enumerate((1, 5, 20))}
  return {**recall, intervals: {f'{prefix}recall@5': [first, first + 2]}}


def _sentences(first):
  return _metrics(first, 'span_', 'span_intervals')


class ResultsTableTest(absltest.TestCase):
  def _print(self, metrics, *rows):
    """Returns the tables printed about rows with these metrics, in words."""
    run_dir = self.create_tempdir()
    run_dir.create_file('seconds.txt', 'index 2\nindex 3\n')
    for name, values in metrics.items():
      run_dir.create_file(f'eval/{name}/metrics.json', json.dumps(values))
    flags = [f'--run_dir={run_dir.full_path}', *(f'--rows={r}' for r in rows)]
    (done,) = forked_binaries.run_all([('results_table', flags)])
    self.assertEqual(done.code, 0, done)
    self.assertTrue(
      os.path.exists(os.path.join(run_dir.full_path, 'results.json'))
    )
    *tables, seconds = done.stdout.strip().split('\n\n')
    self.assertEqual(seconds, 'Seconds: {"index": 5}')
    return [[line.split() for line in t.splitlines()] for t in tables]

  def test_without_questions_rows_have_intervals_and_no_p(self):
    recall = ['recall@1', 'recall@5', 'recall@20', 'interval']
    sentences, questions = self._print(
      {
        'before': _sentences(10.0),
        'bm25': _sentences(30.5),
        'hybrid': _metrics(40.0, '', 'intervals'),
      },
      'before,bm25',
      'hybrid',
    )
    self.assertEqual(
      sentences[0],
      ['system', *(f'span_{name}' for name in recall[:3]), 'interval'],
    )
    self.assertEqual(
      sentences[1:],
      [
        'before 10.0 11.0 12.0 10.0 to 12.0'.split(),
        'bm25 30.5 31.5 32.5 30.5 to 32.5'.split(),
      ],
    )
    self.assertEqual(questions[0], ['system', *recall])

  def test_recall_of_questions_comes_before_that_of_sentences(self):
    both = {**_sentences(10.0), **_metrics(20.0, '', 'intervals')}
    ((_, row),) = self._print({'a': both}, 'a')
    self.assertEqual(
      row, 'a 10.0 11.0 12.0 20.0 21.0 22.0 20.0 to 22.0'.split()
    )


if __name__ == '__main__':
  absltest.main()
