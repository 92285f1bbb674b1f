"""Tests for the console commands that setup.py installs."""

import runpy
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import setuptools

from tests import source_tree

_PROGRAM = """
import sys
from bin import launcher
sys.argv = ['/usr/bin/realm-make-world', {flag!r}]
launcher.console()
"""


class ConsoleTest(parameterized.TestCase):
  def test_every_binary_has_a_command(self):
    with mock.patch.object(setuptools, 'setup') as setup:
      runpy.run_path(str(source_tree.ROOT / 'setup.py'))
    arguments = setup.call_args.kwargs
    self.assertCountEqual(
      arguments['entry_points']['console_scripts'],
      [
        f'realm-{name.replace("_", "-")} = realm_tf.bin.launcher:console'
        for name in source_tree.binaries()
      ],
    )
    for package in arguments['packages']:
      folder = arguments['package_dir'].get(package, package.replace('.', '/'))
      self.assertTrue((source_tree.ROOT / folder / '__init__.py').exists())

  @parameterized.parameters(
    ('--help', 'num_cities=500 makes it smaller'),
    ('--output_dri=x', "'output_dri'. Did you mean: output_dir"),
  )
  def test_a_command_runs_the_binary_of_its_name(self, flag, message):
    done = subprocess.run(
      [sys.executable, '-c', _PROGRAM.format(flag=flag)],
      cwd=source_tree.ROOT,
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertIn(message, done.stdout + done.stderr)

  def test_help_has_the_flags_of_shared_modules(self):
    done = subprocess.run(
      [sys.executable, '-m', 'bin.make_blocks', '--help'],
      cwd=source_tree.ROOT,
      capture_output=True,
      text=True,
      check=False,
    )
    for flag in ('input', 'output_dir', 'vocab_file', 'runner', 'set', 'seed'):
      self.assertIn(f'\n  --{flag}: ', done.stdout)


if __name__ == '__main__':
  absltest.main()
