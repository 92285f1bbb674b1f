"""Tests for realm_tf.reporting.figures_section."""

from absl.testing import absltest

from realm_tf.reporting import figures_section
from realm_tf.reporting import run_reader
from tests.reporting import small_run
from tests.reporting import tables


class FiguresSectionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = self.create_tempdir().full_path
    other = [{'step': 1234, 'exact_match': 55.0}]
    self.first, self.second = run_reader.read(
      [small_run.write(f'{folder}/a'), small_run.write(f'{folder}/b', other)]
    )

  def test_one_run_shows_the_first_and_the_last_row(self):
    self.assertEqual(
      tables.cells(figures_section.final_figures([self.first])),
      [['metric', 'first row', 'last row'], ['Loss loss', '4', '2.5']],
    )

  def test_several_runs_show_their_last_rows(self):
    self.assertEqual(
      tables.cells(figures_section.final_figures([self.first, self.second])),
      [
        ['metric, last row', 'a', 'b'],
        ['Loss loss', '2.5', '–'],
        ['Exact match exact_match', '–', '55'],
      ],
    )

  def test_headlines(self):
    text = list(figures_section.headlines(self.second).itertext())
    self.assertEqual(text, ['Training step', '1,234', 'Exact match', '55'])

  def test_table_of_runs_shows_progress(self):
    _, first, second = tables.cells(
      figures_section.runs_table([self.first, self.second])
    )
    self.assertEqual(first, ['a', 'not ended', '10', '2', self.first.path])
    self.assertEqual(second[:4], ['b', 'not ended', '1,234', '1'])

  def test_each_system_has_a_row_with_all_columns(self):
    rows = [
      {'system': 'realm', 'exact_match': 83.2, 'interval': [80.8, 85.5]},
      {'system': 'bm25', 'recall@5': 99.8},
    ]
    self.assertEqual(
      tables.cells(figures_section.systems(rows)),
      [
        ['system', 'exact_match', 'interval', 'recall@5'],
        ['realm', '83.2', '80.8 to 85.5', '–'],
        ['bm25', '–', '–', '99.8'],
      ],
    )

  def test_each_evaluation_has_a_column(self):
    found = [
      run_reader.Evaluation('dev', {'num_questions': 1000, 'f1': 50.25}),
      run_reader.Evaluation('test', {'f1': 49.0, 'recall@5': 99.75}),
    ]
    self.assertEqual(
      tables.cells(figures_section.evaluations(found)),
      [
        ['metric', 'dev', 'test'],
        ['num_questions', '1,000', '–'],
        ['f1', '50.25', '49'],
        ['recall@5', '–', '99.75'],
      ],
    )

  def test_intervals_have_two_ends_and_categories_are_omitted(self):
    metrics = {'intervals.f1': [48.5, 52.0], 'categories.wh_word.who.f1': 50.0}
    found = [run_reader.Evaluation('dev', metrics)]
    self.assertEqual(
      tables.cells(figures_section.evaluations(found)),
      [['metric', 'dev'], ['intervals.f1', '48.5 to 52']],
    )


if __name__ == '__main__':
  absltest.main()
