"""Tests for launch.runner: which stages run, again, or go on."""

import contextlib
import io
import os
import pathlib
import signal
import sys

from absl.testing import absltest
from absl.testing import parameterized

from launch import recipe as recipe_lib
from launch import runner
import realm_tf
from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import machine
from realm_tf.run import run_lock
from tests.launch import jobs


def _two_copies(recipe, source: str, *, times: int = 1):
  recipe.config(config_lib.ExperimentConfig())
  a = recipe.stage(
    'a', jobs.copy, input=runner.Input(source), output=runner.OUTPUT
  )
  recipe.stage('b', jobs.copy, input=a, times=times, output=runner.OUTPUT)


class RunnerTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.source = self.folder / 'source'
    self.source.write_text('x')
    self.run_dir = self.folder / 'run'

  def _run(self, stages, *positional, **flags):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      runner.run(stages, str(self.run_dir), *positional, **flags)
    return printed.getvalue().splitlines()

  def _copies(self, **flags):
    return self._run(_two_copies, str(self.source), **flags)

  def _change(self, what):
    elsewhere = self.folder / 'elsewhere'
    if what == 'file':
      self.source.write_text('other')
    elif what == 'moved file':
      self.source = self.source.rename(elsewhere)
    elif what == 'moved run':
      self.run_dir = self.run_dir.rename(elsewhere)
    elif what == 'lost output':
      (self.run_dir / 'b').unlink()
    elif what == 'release':
      change = absltest.mock.patch.object(realm_tf, '__version__', '99.0')
      self.enter_context(change)

  def _main(self, *argv):
    out, err = io.StringIO(), io.StringIO()
    with (
      contextlib.redirect_stdout(out),
      contextlib.redirect_stderr(err),
      absltest.mock.patch.object(sys, 'argv', ['recipe', *argv]),
    ):
      try:
        runner.main('doc', _two_copies, lambda recipe: 'the end')
        code = 0
      except SystemExit as end:
        code = end.code
    # A notebook goes on after a recipe.
    self.assertIs(signal.getsignal(signal.SIGTERM), signal.SIG_DFL)
    return code, out.getvalue(), err.getvalue()

  @parameterized.parameters(
    ('nothing', 1, 'done', 'done'),
    ('nothing', 2, 'done', '--times is 2, was 1'),
    ('file', 1, "--input is 'content .*", 'stage a changed'),
    ('moved file', 1, 'done', 'done'),
    ('moved run', 1, 'done', 'done'),
    ('lost output', 1, 'done', '.*b is gone'),
    ('release', 2, *["release is '99.0', was '[^']*'"] * 2),
  )
  def test_a_change_runs_all_that_depends_on_it(self, what, times, *reasons):
    self._copies()
    self._change(what)
    lines = self._copies(times=times, dry_run=True)
    printed = '\n'.join(self._copies(times=times))
    for name, line, reason in zip('ab', lines, reasons):
      runs = '' if reason == 'done' else 'would run: '
      self.assertRegex(line, f'^{name}: {runs}{reason}$')
      self.assertEqual(f'[{name}] runs again: ' in printed, bool(runs))
    copied = (self.run_dir / 'b').read_text()
    self.assertEqual(copied, self.source.read_text() * times)
    self.assertEmpty(self._copies(times=times))

  def test_an_older_output_is_kept_until_the_new_one_is_there(self):
    self._copies(times=2)
    with self.assertRaisesRegex(errors.UserError, 'at least 0'):
      self._copies(times=-1)
    self.assertEqual((self.run_dir / '.old' / 'b').read_text(), 'xx')
    staged = self.run_dir / 'b.1a2b.tmp'  # As a killed binary leaves it.
    staged.mkdir()
    self._copies(times=3)
    self.assertFalse((self.run_dir / '.old' / 'b').exists() or staged.exists())

  def test_a_file_that_no_stage_wrote_is_never_replaced(self):
    self.run_dir.mkdir()
    (self.run_dir / 'b').write_text("the user's")
    with self.assertRaisesRegex(errors.UserError, 'RUN_DIR must be new'):
      self._copies()
    self.assertEqual((self.run_dir / 'b').read_text(), "the user's")
    self.assertFalse((self.run_dir / 'a').exists())

  def test_a_stage_needs_the_outputs_inside_the_ones_it_names(self):
    recipe = runner.Recipe('run')
    a = recipe.stage('a', 'x', output=runner.OUTPUT)
    recipe.stage('inside', 'x', at=a / 'index', output=runner.OUTPUT / 'y')
    b = recipe.stage('b', 'x', input=[a], output=runner.OUTPUT)
    recipe.stage('c', 'x', input=['file', b / 'z'], output=runner.OUTPUT)
    _, inside, b, c = recipe.stages.values()
    self.assertEqual(c.needs, {'b'})
    self.assertEqual(inside.flags, {'output': 'run/a/index/y'})
    self.assertEqual(inside.needs, {'a'})
    self.assertEqual(b.flags, {'input': ['run/a'], 'output': 'run/b'})
    self.assertEqual(b.needs, {'a', 'inside'})

  def test_a_stage_that_is_listed_twice_must_be_the_same(self):
    recipe = runner.Recipe('run')
    recipe.stage('a', 'x', number=1)
    recipe.stage('a', 'x', number=1)
    with self.assertRaisesRegex(ValueError, "two 'a'"):
      recipe.stage('a', 'x', number=2)

  def test_flags_of_every_kind(self):
    flags = {'no': '', 'none': None, 'yes': True, 'off': False, 'l': [1, 'b']}
    self.assertEqual(
      list(recipe_lib.arguments(flags)), ['--yes', '--nooff', '--l=1', '--l=b']
    )

  def test_only_one_run_works_in_a_directory(self):
    self.run_dir.mkdir()
    with (
      run_lock.holding(str(self.run_dir), 'run'),
      self.assertRaisesRegex(errors.UserError, 'Found another'),
    ):
      self._copies()

  def test_a_finished_run_of_other_code_is_told(self):
    with self.assertNoLogs(level='WARNING'):
      self._copies()
      self._copies()
    with (
      absltest.mock.patch.object(run_lock, 'code', lambda: 'other'),
      self.assertLogs(level='WARNING') as logs,
    ):
      self._copies(dry_run=True)
      self._copies()
    self.assertLen(logs.output, 2)
    self.assertIn('last written by other code', logs.output[0])

  def test_a_recipe_may_go_on_from_results(self):
    source = runner.Input(str(self.source))

    def stages(recipe):
      a = recipe.stage('a', jobs.copy, input=source, output=runner.OUTPUT)
      recipe.finish()
      times = len(pathlib.Path(a).read_text()) + 1
      recipe.stage('b', jobs.copy, input=a, times=times, output=runner.OUTPUT)

    self.assertEqual(self._run(stages, dry_run=True), ['a: would run: new'])
    self._run(stages)
    self.assertEqual((self.run_dir / 'b').read_text(), 'xx')
    self.assertEqual(self._run(stages, dry_run=True), ['a: done', 'b: done'])

  def test_a_text_is_shown_when_its_stages_are_done(self):
    def stages(recipe):
      _two_copies(recipe, str(self.source))
      recipe.show('Half.', [recipe.stages['a'].output], os.path.basename)

    printed = self._run(stages)
    number = printed.index('Half.')
    self.assertEqual(printed[number + 1], 'run')
    self.assertRegex(printed[-1], r'\[b\] \d+ s')
    self.assertLess(number, len(printed) - 1)

  def test_the_forecast_is_renewed_from_what_stages_took(self):
    def stages(recipe):
      asked = {'output': runner.OUTPUT, 'input': runner.Input(str(self.source))}
      usual = recipe.stage('usual', jobs.copy, **asked)
      a = recipe.stage('a', jobs.copy, cost=3600, needs=[usual], **asked)
      b = recipe.stage('b', jobs.copy, cost=360_000, needs=[a], **asked)
      recipe.stage('c', jobs.copy, cost=600, needs=[b], **asked)

    patch = absltest.mock.patch.object(machine, 'cores', return_value=2)
    with patch:
      begun, usual, a, _, c = self._run(stages)
    # Half of 364,210 s of one core, before anything is known.
    self.assertIn('Stages: 0 of 4 done; about 50.6 h left.', begun)
    self.assertRegex(usual, r'\[usual\] \d+ s; about 50.6 h left')
    # 3,600 s took none, so 5 s that are trusted stand for 3,605.
    self.assertRegex(a, r'\[a\] \d+ s; about \d+ (s|min) left')
    self.assertRegex(c, r'^\[c\] \d+ s$')

  def test_the_command_line_is_the_recipes_signature(self):
    run_dir = str(self.run_dir)
    code, out, err = self._main(str(self.source), run_dir, '--times=2')
    self.assertEqual((code, err), (0, ''))
    self.assertEndsWith(out, 'the end\n')
    self.assertEqual((self.run_dir / 'b').read_text(), 'xx')

  @parameterized.parameters(
    ([], 'the following arguments are required: source, run_dir'),
    (['missing', 'run'], 'The input missing must exist'),
    (['x', 'run', '--time=3'], 'unrecognized arguments: --time=3'),
    (['x', 'run', '--times=y'], "argument --times: invalid int value: 'y'"),
    (['x', 'run', '--set=sed=1'], 'Unknown config key `sed`'),
  )
  def test_a_mistake_is_one_line(self, argv, message):
    argv = [str(self.run_dir) if each == 'run' else each for each in argv]
    code, out, err = self._main(*argv)
    self.assertEqual((code, out), (2, ''))
    self.assertRegex(err, f'\\AERROR: {message}.*\\n\\Z')
    self.assertFalse(self.run_dir.exists())


if __name__ == '__main__':
  absltest.main()
