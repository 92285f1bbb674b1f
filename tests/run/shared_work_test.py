"""Tests for realm_tf.run.shared_work, with a clock of their own."""

import os
import pathlib
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from realm_tf import errors
from realm_tf import json_text
from realm_tf.run import shared_work

_TASKS = ('a', 'b', 'c')


class SharedWorkTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = os.path.join(self.create_tempdir().full_path, 'work')
    self.now = 1000.0
    self.ended = set()  # Names of workers.

  def _work(self, name):
    return shared_work.SharedWork(
      self.directory,
      shared_work.Worker(name, 'here', 1),
      takeover_secs=60.0,
      clock=lambda: self.now,
      has_ended=lambda worker: worker.name in self.ended,
    )

  def test_one_worker_does_all_tasks_in_its_order(self):
    work = self._work('x')
    for i, task in enumerate('cab'):
      self.assertEqual(work.claim('cab'), task)
      self.assertEqual(work.num_done(_TASKS), i)
      self.assertTrue(work.finish(task, {'made': task}))
    self.assertIsNone(work.claim('cab'))
    self.assertEqual(
      work.results(_TASKS, {}), [{'made': 'a'}, {'made': 'b'}, {'made': 'c'}]
    )

  def test_no_task_is_given_to_two_workers(self):
    first, second = self._work('x'), self._work('y')
    self.assertEqual(first.claim(_TASKS), 'a')
    self.assertEqual(second.claim(_TASKS), 'b')
    first.finish('a', {})
    self.assertEqual(second.num_done(_TASKS), 1)
    self.assertEqual(second.claim(['a', 'b']), 'b')  # 'y' gets 'b' again.
    self.assertEqual(first.claim(_TASKS), 'c')
    self.assertIsNone(self._work('z').claim(_TASKS))

  def test_an_ended_process_on_this_machine_is_dead_at_once(self):
    self._work('x').claim(['a'])
    self.assertIsNone(self._work('y').claim(['a']))
    self.ended.add('x')
    self.assertEqual(self._work('y').claim(['a']), 'a')

  def test_a_worker_elsewhere_is_dead_after_a_long_silence(self):
    other, observer = self._work('x'), self._work('y')
    other.claim(['a'])
    for _ in range(3):  # Slow beats count too.
      other.beat()
      self.assertIsNone(observer.claim(['a']))
      self.now += 100.0
    other.beat()
    self.assertIsNone(observer.claim(['a']))  # A new beat.
    self.now += 60.0
    self.assertIsNone(observer.claim(['a']))
    self.now += 0.1
    self.assertEqual(observer.claim(['a']), 'a')

  def test_a_worker_without_a_beat_is_dead_after_the_same_time(self):
    self._work('x').claim(['a'])
    observer = self._work('y')
    self.assertIsNone(observer.claim(['a']))
    self.now += 60.1
    self.assertEqual(observer.claim(['a']), 'a')

  def test_a_clock_set_back_makes_no_worker_dead(self):
    other, observer = self._work('x'), self._work('y')
    other.claim(['a'])
    observer.claim(['a'])
    self.now -= 10_000.0
    other.beat()
    self.assertIsNone(observer.claim(['a']))

  def test_the_last_of_two_simultaneous_claims_counts(self):
    late = self._work('y')

    def write(path, value):
      real_write(path, value)
      if value['name'] == 'x':
        # Claims between the other worker's write and read.
        late.claim(['a'])

    real_write = json_text.write
    names = mock.patch.object(
      shared_work.SharedWork, '_names', return_value=set()
    )
    with names, mock.patch.object(json_text, 'write', side_effect=write):
      self.assertIsNone(self._work('x').claim(['a']))
    self.assertEqual(late.claim(['a']), 'a')

  def test_the_first_result_counts(self):
    first, second = self._work('x'), self._work('y')
    self.assertTrue(first.finish('a', {'by': 'x'}))
    self.assertFalse(second.finish('a', {'by': 'y'}))
    self.assertEqual(second.results(['a'], {}), [{'by': 'x'}])

  def test_an_unreadable_claim_is_ignored_and_a_result_is_a_user_error(self):
    work = self._work('x')
    pathlib.Path(self.directory, 'a.claim').write_text('{"na')
    self.assertEqual(work.claim(['a']), 'a')
    work.finish('a', {})
    path = pathlib.Path(self.directory, 'a.done')
    path.write_text('{')
    with self.assertRaisesRegex(errors.UserError, str(path)):
      work.results(['a'], {})

  def test_beats_only_while_the_body_runs(self):
    work = shared_work.SharedWork(
      self.directory, shared_work.Worker('x', '', 0), takeover_secs=0.006
    )
    beat_file = os.path.join(self.directory, 'x.beat')
    with work.beating():
      first = json_text.read(beat_file)
      while json_text.read(beat_file) <= first + 2:  # Hangs without beats.
        pass
    last = json_text.read(beat_file)
    work.beat()
    self.assertEqual(json_text.read(beat_file), last + 1)

  def test_a_process_has_one_unique_name(self):
    worker = shared_work.this_worker()
    self.assertEqual(shared_work.this_worker(), worker)
    self.assertNotIn('/', worker.name)
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
      os.write(write_end, shared_work.this_worker().name.encode())
      os._exit(0)
    os.waitpid(child, 0)
    self.assertNotEqual(os.read(read_end, 1000).decode(), worker.name)

  def test_tells_whether_a_process_here_has_ended(self):
    machine = shared_work.this_worker().machine
    self.assertTrue(machine)  # Without it, nothing is known.
    with subprocess.Popen(
      [sys.executable, '-c', 'input()'], stdin=subprocess.PIPE
    ) as process:
      worker = shared_work.Worker('x', machine, process.pid)
      self.assertFalse(shared_work.has_ended(worker))
      process.kill()
      # A zombie: the system still lists the process.
      os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
      self.assertTrue(shared_work.has_ended(worker))
    self.assertTrue(shared_work.has_ended(worker))
    for elsewhere in ('', 'elsewhere'):
      worker = shared_work.Worker('x', elsewhere, process.pid)
      self.assertFalse(shared_work.has_ended(worker))


if __name__ == '__main__':
  absltest.main()
