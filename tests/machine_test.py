"""Tests for realm_tf.machine."""

import os
import pathlib
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from realm_tf import machine
from tests import source_tree

# A script without a main guard, which runs two stages in a thread.
_SCRIPT = """import sys, threading
from launch import runner
from tests.launch import jobs
def stages(recipe):
  a = recipe.stage('a', jobs.leave_file, output=runner.OUTPUT)
  recipe.stage('b', jobs.copy, input=a, output=runner.OUTPUT)
thread = threading.Thread(target=runner.run, args=(stages, sys.argv[1]))
thread.start()
thread.join()
"""


class MachineTest(absltest.TestCase):
  def test_a_container_limits_cores_and_memory(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'own').write_text('1:cpu:/x\n0::/outer/inner\n')
    inner = folder / 'outer/inner'
    inner.mkdir(parents=True)
    (inner / 'cpu.max').write_text('max 100000\n')
    (inner / 'memory.max').write_text('12345\n')
    (inner.parent / 'memory.max').write_text('99999\n')
    with (
      mock.patch.object(machine, '_OWN_GROUP', folder / 'own'),
      mock.patch.object(machine, '_GROUPS', folder),
      mock.patch.object(os, 'sched_getaffinity', lambda _: range(8)),
    ):
      self.assertEqual((machine.cores(), machine.memory_bytes()), (8, 12345))
      for quota, cores in ((350_000, 3), (20_000, 1)):
        (inner.parent / 'cpu.max').write_text(f'{quota} 100000\n')
        self.assertEqual(machine.cores(), cores)

  def test_a_script_from_standard_input_leaves_no_temporary_file(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    temporary = folder / ('long' * 30)  # Too long for a socket.
    temporary.mkdir()
    done = subprocess.run(
      [sys.executable, '-', str(folder / 'run')],
      env={
        **os.environ,
        'PYTHONPATH': str(source_tree.ROOT),
        'TMPDIR': str(temporary),
      },
      input=_SCRIPT,
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
    left = (folder / 'run/b').read_text()
    self.assertStartsWith(left, str(folder / 'run'))
    self.assertFalse(os.path.exists(left))
    self.assertEmpty(os.listdir(temporary))


if __name__ == '__main__':
  absltest.main()
