"""Tests for launch/environment.sh, without network."""

import os
import pathlib
import subprocess

from absl.testing import absltest

from tests import source_tree

_SCRIPT = source_tree.ROOT / 'launch/environment.sh'
_PYTHON = """#!/usr/bin/bash
if [ "$1" = --version ]; then echo "Python VERSION"; else exit 1; fi
"""


class EnvironmentTest(absltest.TestCase):
  def test_a_python_out_of_range_is_a_mistake_of_one_line(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name in ('python3', 'python3.10', 'python3.11', 'python3.12'):
      self._write(folder / name, '3.14.1')
    self._write(folder / 'python3.13', '3.14.0')
    for variables, found in (
      ({}, r'Python 3\.14\.0'),
      ({'REALM_PYTHON': f'{folder}/python3'}, r'Python 3\.14\.1'),
      ({'REALM_PYTHON': f'{folder}/none'}, 'no Python 3'),
    ):
      done = subprocess.run(
        ['bash', _SCRIPT],
        env={
          **os.environ,
          'PATH': f'{folder}:{os.environ["PATH"]}',
          'REALM_VENV': f'{folder}/venv',
          **variables,
        },
        capture_output=True,
        text=True,
        check=False,
      )
      self.assertEqual((done.returncode, done.stdout), (2, ''))
      self.assertRegex(
        done.stderr,
        rf'\APython .* must be installed, .* Found {found}\. .*\n\Z',
      )
      self.assertFalse((folder / 'venv').exists())

  def _write(self, path, version):
    path.write_text(_PYTHON.replace('VERSION', version))
    path.chmod(0o755)


if __name__ == '__main__':
  absltest.main()
