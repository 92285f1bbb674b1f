"""Tests for launch.schedule: which stage begins, and killed processes."""

import contextlib
import io
import os
import pathlib
import select
import signal
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

from launch import runner
from launch import schedule
from launch import stage_records
from realm_tf import errors
from tests import source_tree
from tests.launch import jobs

_TIMEOUT_SECS = 120


def _next(
  needs, costs, left, running=(), *, shown='', alone='', cores=2, most=9
):
  """Returns the next stage; `needs` is name -> names, in order."""
  recipe = runner.Recipe('run')
  for (name, needed), cost in zip(needs.items(), costs, strict=True):
    outputs = [recipe.stages[each].output for each in needed]
    recipe.stage(name, 'x', needs=outputs, cost=cost, alone=name in alone)
  for text in shown.split():
    recipe.show('title', [recipe.stages[each].output for each in text], str)
  with absltest.mock.patch.object(runner.Recipe, 'cores', cores):
    return schedule.next_stage(recipe, left, dict(running), most)


class NextStageTest(parameterized.TestCase):
  @parameterized.named_parameters(
    # b and c: 10 seconds, a: 5.
    ('longest_path', 'bc', (5, 1, 9), '', ['b1', 'a1', None]),
    # a, then c, have all cores before b.
    ('shown_text', 'ac', (1, 9, 2), 'c', ['a2', None]),
    ('texts_in_turn', 'ac', (1, 9, 2), 'c b', ['a2', None]),
  )
  def test_order(self, path, costs, shown, expected):
    first, last = path
    needs = {'a': '', 'b': '', last: first}
    found, left, running = [], 'abc', {}
    for _ in expected:
      step = _next(needs, costs, left, running, shown=shown)
      found.append(step and f'{step[0]}{step[1]}')
      if step:
        left = left.replace(step[0], '')
        running[step[0]] = step[1]
    self.assertEqual(found, expected)

  def test_ready_stages_share_the_free_cores(self):
    needs, costs = {'a': '', 'b': '', 'c': 'ab'}, (2, 1, 3)
    for left, running, expected in (
      ('abc', {}, ('a', 4)),
      ('bc', {'a': 4}, ('b', 4)),
      ('c', {'a': 4, 'b': 4}, None),
      ('c', {}, ('c', 8)),
    ):
      step = _next(needs, costs, left, running, cores=8)
      self.assertEqual(step, expected)

  def test_a_stage_alone_and_memory_limit_the_stages_at_the_same_time(self):
    needs, costs = dict.fromkeys('abc', ''), (3, 2, 1)
    alone, two = {'alone': 'a'}, {'most': 2}
    for left, running, limit, expected in (
      ('abc', {}, alone, ('a', 8)),
      ('bc', {'a': 8}, alone, None),
      ('bc', {}, alone, ('b', 4)),
      ('ac', {'b': 4}, alone, None),
      ('abc', {}, two, ('a', 4)),
      ('bc', {'a': 4}, two, ('b', 4)),
      ('c', {'a': 3, 'b': 3}, two, None),
      ('abc', {}, {'most': 1}, ('a', 8)),
    ):
      step = _next(needs, costs, left, running, cores=8, **limit)
      self.assertEqual(step, expected)


class _Waiting:
  """A run of two stages, each with a child; all wait for a signal."""

  def __init__(self, folder: pathlib.Path):
    self._fifos = []
    for name in ('first', 'second'):
      os.mkfifo(folder / name)
      # Nonblocking, so that a runner that fails cannot hang the test.
      self._fifos.append(os.open(folder / name, os.O_RDONLY | os.O_NONBLOCK))
    self.run_dir = folder / 'run'
    command = [sys.executable, '-m', 'tests.launch.jobs']
    self.process = subprocess.Popen(
      [*command, str(folder), str(self.run_dir)],
      cwd=source_tree.ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    lines = [self._read(fifo) for fifo in self._fifos]
    self.pids = [[int(pid) for pid in line.split()] for line in lines]

  def all_ended(self) -> bool:
    """Waits until no stage, nor its child, holds its FIFO."""
    return not any(self._read(fifo) for fifo in self._fifos)

  def outcome(self):
    out, err = self.process.communicate(timeout=_TIMEOUT_SECS)
    return self.process.returncode, out, err

  def clean_up(self):
    self.process.kill()
    self.process.communicate()
    for fifo in self._fifos:
      os.close(fifo)

  def _read(self, fifo) -> str:
    poll = select.poll()
    poll.register(fifo, select.POLLIN | select.POLLHUP)
    if not poll.poll(_TIMEOUT_SECS * 1000):
      raise TimeoutError('Nothing was written, and no process ended.')
    return os.read(fifo, 1000).decode()


class KilledStagesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _start(self):
    waiting = _Waiting(self.folder)
    self.addCleanup(waiting.clean_up)
    return waiting

  def _states(self):
    run_dir = str(self.folder / 'run')
    return [
      stage_records.read(run_dir, name).get('state')
      for name in ('first', 'second')
    ]

  def test_stages_and_their_children_end_with_a_killed_runner(self):
    waiting = self._start()
    waiting.process.kill()
    self.assertTrue(waiting.all_ended())
    self.assertEqual(self._states(), ['begun', 'begun'])

  def test_ctrl_c_ends_all_and_says_how_to_go_on(self):
    waiting = self._start()
    waiting.process.send_signal(signal.SIGINT)
    code, _, err = waiting.outcome()
    said = 'Stopped. The same command goes on.\n'
    self.assertEqual((code, err), (130, said))
    self.assertTrue(waiting.all_ended())

  def test_a_killed_stage_ends_all_with_one_line(self):
    waiting = self._start()
    os.kill(waiting.pids[0][0], signal.SIGKILL)
    code, _, err = waiting.outcome()
    self.assertEqual(code, 2)
    self.assertRegex(
      err, r'\AERROR: Stage first was killed by signal 9: .*\n\Z'
    )
    self.assertTrue(waiting.all_ended())

  def _run(self, stages):
    with contextlib.redirect_stdout(io.StringIO()):
      runner.run(stages, str(self.folder / 'run'))

  def test_a_fault_ends_the_run_with_its_last_line(self):
    with self.assertRaisesRegex(
      errors.UserError, r"Stage a failed: KeyError: '.*/run/a' See .*log"
    ):
      self._run(lambda x: x.stage('a', jobs.fault, output=runner.OUTPUT))

  def test_a_failing_companion_ends_its_stage(self):
    fifo = self.folder / 'fifo'
    os.mkfifo(fifo)
    self.addCleanup(os.close, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
    flags = {'fifo': str(fifo), 'output': runner.OUTPUT}
    fault = jobs.fault, {'output': runner.OUTPUT}
    with self.assertRaisesRegex(errors.UserError, 'KeyError'):
      self._run(lambda x: x.stage('a', jobs.wait, companion=fault, **flags))


if __name__ == '__main__':
  absltest.main()
