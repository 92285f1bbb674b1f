"""Tests for realm_tf.serving.tables."""

from absl.testing import absltest

from realm_tf.serving import run_reader
from realm_tf.serving import tables
from tests.serving import small_run

_DEFAULTS = {'seed': 0, 'a.rate': 1e-5, 'a.name': 'x', 'a.on': True}


class TablesTest(absltest.TestCase):
  def _runs(self, **contents):
    folder = self.create_tempdir().full_path
    return run_reader.read(
      [small_run.write(f'{folder}/{n}', **c) for n, c in contents.items()]
    )

  def test_all_systems_of_a_file_have_all_columns(self):
    first = {'system': 'realm', 'exact_match': 83.2, 'interval': [80.8, 85.5]}
    other = {'system': 'bm25', 'recall@5': 99.8}
    table = tables.of_systems(run_reader.Results('test', [[first], [other]]))
    self.assertEqual(table.title, 'test: all columns')
    self.assertEqual(
      table.headings, ['system', 'exact match', 'interval', 'recall@5']
    )
    self.assertEqual(
      table.rows, [['realm', 83.2, [80.8, 85.5], '–'], ['bm25', '–', '–', 99.8]]
    )

  def test_each_evaluation_has_a_column_without_categories(self):
    table = tables.of_evaluations(
      [
        run_reader.Evaluation(
          'dev', {'num_questions': 1000, 'categories.wh_word.who.f1': 50.0}
        ),
        run_reader.Evaluation('test', {'intervals.f1': [48.5, 52.0]}),
      ]
    )
    self.assertEqual(table.headings, ['metric', 'dev', 'test'])
    self.assertEqual(
      table.rows,
      [['num questions', 1000, '–'], ['intervals.f1', '–', [48.5, 52.0]]],
    )

  def test_each_set_of_an_evaluation_has_a_row_on_refusing(self):
    found = run_reader.Evaluation(
      'all',
      {'answered': 60.0, 'auroc': 95.0},
      {'missing_test': {'answered': 10.0, 'coverage@90': 5.0}, 'x': {}},
    )
    own = run_reader.Evaluation('missing_test', {'answered': 10.0})
    table = tables.of_refusing([own, found])
    rows = [dict(zip(table.headings, row)) for row in table.rows]
    self.assertEqual([row['in %'] for row in rows], ['all', 'missing test'])
    self.assertEqual([row['answered'] for row in rows], [60.0, 10.0])
    self.assertEqual([row['AUROC'] for row in rows], [95.0, '–'])
    self.assertEqual(rows[1]['coverage, 90 % right'], 5.0)

  def test_changed_fields_come_first_and_others_are_folded(self):
    config = {
      'new': None,
      'seed': 12345,
      'a': {'rate': 1e-5, 'name': 'x', 'on': False},
    }
    runs = self._runs(a={'config': config})
    changed, rest = tables.of_configs(runs, _DEFAULTS)
    self.assertEqual(changed.title, '3 changed fields')
    self.assertEqual(changed.headings, ['field', 'a', 'default'])
    self.assertEqual(
      changed.rows,
      [
        ['seed', '12345', '0'],
        ['a.on', 'false', 'true'],
        ['new', 'none', '–'],  # A field of another version.
      ],
    )
    self.assertEqual(rest.title, '2 fields with their defaults')
    self.assertEqual(
      rest.rows, [['a.rate', '1e-05', '1e-05'], ['a.name', 'x', 'x']]
    )

  def test_differences_between_runs_are_marked(self):
    runs = self._runs(
      a={'config': {'seed': 1, 'a': {'name': '<y>'}}},
      b={'config': {'seed': 1, 'a': {'name': 'x'}}},
    )
    changed, _ = tables.of_configs(runs, _DEFAULTS)
    self.assertEqual(
      changed.rows,
      [
        ['seed', '1', '1', '0'],
        ['a.name', '<mark>&lt;y&gt;</mark>', '<mark>x</mark>', 'x'],
      ],
    )


if __name__ == '__main__':
  absltest.main()
