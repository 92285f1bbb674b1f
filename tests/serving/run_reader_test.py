"""Tests for realm_tf.serving.run_reader."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

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
    self.assertEqual(list(run.series['loss'].values), [4.0, 2.5])
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
    with self.assertRaisesRegex(errors.UserError, '--run_dir must be the dir'):
      run_reader.read([self._path('missing')])
    path = small_run.write(self._path('run'))
    with self.assertRaisesRegex(errors.UserError, '--eval_dir must be'):
      run_reader.evaluations(run_reader.read([path]), [path])
    for text in ('{', '[]'):
      file = pathlib.Path(path, 'metrics.json')
      file.write_text(text)
      with self.assertRaisesRegex(errors.UserError, f'{file} must be'):
        run_reader.evaluations(run_reader.read([path]), [])


if __name__ == '__main__':
  absltest.main()
