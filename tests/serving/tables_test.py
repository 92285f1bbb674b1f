"""Tests for the tables of realm_tf.serving.report."""

from absl.testing import absltest

from realm_tf.serving import report
from realm_tf.serving import run_reader


class TablesTest(absltest.TestCase):
  def test_all_systems_of_a_file_have_all_columns(self):
    first = {'system': 'realm', 'exact_match': 83.2, 'interval': [80.8, 85.5]}
    other = {'system': 'bm25', 'recall@5': 99.8}
    table = report.of_systems(run_reader.Results('test', [[first], [other]]))
    self.assertEqual(table.title, 'test: all columns')
    self.assertEqual(
      table.headings, ['system', 'exact match', 'interval', 'recall@5']
    )
    self.assertEqual(
      table.rows, [['realm', 83.2, [80.8, 85.5], '–'], ['bm25', '–', '–', 99.8]]
    )

  def test_each_set_of_an_evaluation_has_a_row_on_refusing(self):
    found = run_reader.Evaluation(
      'all',
      {'answered': 60.0, 'auroc': 95.0},
      {'missing_test': {'answered': 10.0, 'coverage@90': 5.0}, 'x': {}},
    )
    own = run_reader.Evaluation('missing_test', {'answered': 10.0})
    table = report.of_refusing([own, found])
    rows = [dict(zip(table.headings, row)) for row in table.rows]
    self.assertEqual([row['in %'] for row in rows], ['all', 'missing test'])
    self.assertEqual([row['answered'] for row in rows], [60.0, 10.0])
    self.assertEqual([row['AUROC'] for row in rows], [95.0, '–'])
    self.assertEqual(rows[1]['coverage, 90 % right'], 5.0)


if __name__ == '__main__':
  absltest.main()
