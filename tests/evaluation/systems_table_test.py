"""Tests for realm_tf.evaluation.systems_table."""

import json
import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf.evaluation import systems_table


def _metrics(first, prefix, intervals):
  """Returns fields of metrics.json: recall@1, @5 and @20 rise from `first`."""
  recall = {f'{prefix}recall@{k}': first + i for i, k in enumerate((1, 5, 20))}
  return {**recall, intervals: {f'{prefix}recall@5': [first, first + 2]}}


def _sentences(first):
  return _metrics(first, 'span_', 'span_intervals')


class SystemsTableTest(absltest.TestCase):
  def _rows(self, **metrics):
    """Returns the rows of systems, name -> fields of metrics.json."""
    directory = self.create_tempdir()
    for name, values in metrics.items():
      directory.create_file(f'{name}/metrics.json', json.dumps(values))
    paths = {name: os.path.join(directory.full_path, name) for name in metrics}
    return systems_table.rows(paths, [])

  def test_without_questions_rows_have_intervals_and_no_p(self):
    rows = self._rows(before=_sentences(10.0), bm25=_sentences(30.5))
    self.assertEqual(
      systems_table.as_text(rows).splitlines(),
      [
        'system  span_recall@1  span_recall@5  span_recall@20      interval',
        'before           10.0           11.0            12.0  10.0 to 12.0',
        '  bm25           30.5           31.5            32.5  30.5 to 32.5',
      ],
    )

  def test_the_interval_of_questions_comes_before_sentences(self):
    both = {**_sentences(10.0), **_metrics(20.0, '', 'intervals')}
    (row,) = self._rows(a=both)
    self.assertEqual(row['span_recall@5'], 11.0)
    self.assertEqual(row['recall@5'], 21.0)
    self.assertEqual(row['interval'], [20.0, 22.0])

  def test_a_missing_evaluation_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'Found no missing/metrics'):
      systems_table.rows({'a': 'missing'}, [])


if __name__ == '__main__':
  absltest.main()
