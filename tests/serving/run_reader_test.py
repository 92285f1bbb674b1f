"""Tests for realm_tf.serving.run_reader."""

import json
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.run import layout
from realm_tf.serving import run_reader
from tests.serving import small_run


class RunReaderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _path(self, *names):
    return os.path.join(self.folder, *names)

  def test_reads_all_files(self):
    path = small_run.write(self._path('run'), examples=[small_run.EXAMPLE])
    [run] = run_reader.read([path])
    self.assertEqual((run.name, run.path), ('run', path))
    self.assertFalse(run.is_done)
    self.assertEqual(run.last_step, 10)
    self.assertEqual([row['loss'] for row in run.rows], [4.0, 2.5])
    self.assertEqual(run.examples, [small_run.EXAMPLE])
    path = small_run.write(self._path('only the log'))
    pathlib.Path(layout.done_file(path)).touch()
    [run] = run_reader.read([path])
    self.assertTrue(run.is_done)
    self.assertEqual(run.examples, [])

  @parameterized.parameters(
    (('a/x', 'a/y'), ['x', 'y']), (('a/x', 'b/x/'), ['a/x', 'b/x'])
  )
  def test_names_are_as_short_as_they_can_be(self, paths, expected):
    runs = run_reader.read([small_run.write(self._path(p)) for p in paths])
    self.assertEqual([run.name for run in runs], expected)

  def test_a_repeated_run_is_read_once(self):
    path = small_run.write(self._path('run'))
    self.assertLen(run_reader.read([path, path + '/']), 1)

  def test_finds_evaluations_inside_and_outside_the_run(self):
    path = small_run.write(
      self._path('run'), metrics={'.': {'f1': 1.5}, 'eval/test': {'f1': 2}}
    )
    other = small_run.write(self._path('other'), metrics={'.': {'f1': 3}})
    inside = os.path.join(path, 'eval', '..', 'eval', 'test')  # Found once.
    found = run_reader.evaluations(run_reader.read([path]), [other, inside])
    self.assertEqual(
      [(e.name, e.metrics) for e in found],
      [('run', {'f1': 1.5}), ('test', {'f1': 2}), ('other', {'f1': 3})],
    )

  def test_an_evaluation_may_have_sets_and_a_curve(self):
    metrics = {'f1': 1, 'sets': {'dev': {'f1': 2}}}
    path = small_run.write(self._path('run'), metrics={'.': metrics})
    curve = pathlib.Path(path, 'risk_coverage.jsonl')
    curve.write_text(
      '{"coverage": 0.5, "risk": 0}\n{"coverage": 1, "risk": 0.25}\n'
    )
    runs, risks = run_reader.read([path]), [(0.5, 0), (1, 0.25)]
    self.assertEqual(
      run_reader.evaluations(runs, []),
      [('run: all questions', {'f1': 1}, {'dev': {'f1': 2}}, risks)],
    )
    curve.write_text('{"coverage": 0.5}\n')
    with self.assertRaisesRegex(
      errors.UserError, f'{curve}:1 .* required field `risk`'
    ):
      run_reader.evaluations(runs, [])
    pathlib.Path(path, 'metrics.json').write_text('{"sets": [1]}')
    with self.assertRaisesRegex(
      errors.UserError, 'got `array` - at `[$].sets`'
    ):
      run_reader.evaluations(runs, [])

  def test_mistakes(self):
    with self.assertRaisesRegex(errors.UserError, 'give the --run_dir of'):
      run_reader.read([self._path('missing')])
    path = small_run.write(self._path('run'))
    with self.assertRaisesRegex(errors.UserError, 'Run bin.evaluate, which'):
      run_reader.evaluations(run_reader.read([path]), [path])
    for text in ('{', '[]'):
      file = pathlib.Path(path, 'metrics.json')
      file.write_text(text)
      with self.assertRaisesRegex(errors.UserError, f'{file} must be'):
        run_reader.evaluations(run_reader.read([path]), [])


def _row(system, value, metric='exact_match'):
  return {'system': system, metric: value, 'interval': [value - 1, value + 1]}


def _after(number, **values):
  return [_row(f'{n} after {number} questions', v) for n, v in values.items()]


class ComparisonTest(parameterized.TestCase):
  def _read(self, name='a_1.json', **content):
    path = pathlib.Path(self.create_tempdir().full_path, name)
    path.write_text(json.dumps(content))
    return run_reader.comparisons([str(path)])

  def test_tables_of_equal_systems_are_lines_by_number(self):
    [found] = self._read(
      title='In other words',
      tables=[
        _after(0, REALM=40.0, BM25=45.0),
        _after(1000, REALM=60.0, BM25=50.0),
        _after('all', REALM=80.0, BM25=55.0),
      ],
    )
    self.assertEqual(found.title, 'In other words')
    self.assertEqual(found.metric, 'exact match')
    self.assertEqual(found.numbers, ['0', '1,000', 'all'])
    self.assertEqual(list(found.systems), ['REALM', 'BM25'])
    np.testing.assert_array_equal(
      found.systems['REALM'], [[40, 60, 80], [39, 59, 79], [41, 61, 81]]
    )
    self.assertEqual(
      found.cells('BM25'),
      [('45.0 ±1.0', True), ('50.0 ±1.0', False), ('55.0 ±1.0', False)],
    )
    self.assertEqual(found.cells('other'), [('', False)] * 3)
    self.assertEqual(
      str(found),
      'In other words: exact match in % after 0, 1,000, all training '
      'questions: REALM 40.0, 60.0, 80.0; BM25 45.0, 50.0, 55.0',
    )

  def test_other_tables_are_points(self):
    first, second, third = self._read(
      tables=[
        [_row('a', 90.0, metric='recall@5'), _row('b', 80.0, 'recall@5')],
        [_row('a_b', 50.0), {'system': 'no interval', 'exact_match': 60.0}],
        [_row('a after 0 questions', 1.0), _row('b after 1 questions', 2.0)],
        [],
      ]
    )
    self.assertEqual(first.title, 'a 1')
    self.assertEqual(first.metric, 'answer in 5 blocks')
    self.assertEqual(first.numbers, [''])
    self.assertEqual(list(first.systems), ['a', 'b'])
    self.assertEqual(str(second), 'a 1: exact match in %: a b 50.0')
    self.assertLen(third.systems, 2)

  @parameterized.parameters(
    ({'system': 1},), ({},), ({'system': 'a', 'interval': [1]},)
  )
  def test_another_file_is_refused(self, cells):
    with self.assertRaisesRegex(errors.UserError, 'wrong.* `[$].tables'):
      self._read('wrong.json', tables=[[cells]])


if __name__ == '__main__':
  absltest.main()
