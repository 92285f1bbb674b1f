"""Tests for realm_tf.run.workers."""

import os
import subprocess
import sys

from absl.testing import absltest

from realm_tf.run import shared_work


class WorkersTest(absltest.TestCase):
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

  def test_tells_whether_a_process_runs(self):
    worker = shared_work.this_worker()
    self.assertTrue(worker.machine)  # Without it, the result is None.
    self.assertTrue(shared_work.is_running(worker))

    process = subprocess.Popen(
      [sys.executable, '-c', 'input()'], stdin=subprocess.PIPE
    )
    with open(f'/proc/{process.pid}/stat') as file:
      start = file.read().rpartition(')')[2].split()[19]
    other = worker._replace(process=f'{process.pid} {start}')
    self.assertTrue(shared_work.is_running(other))
    # Another process has the same id.
    self.assertFalse(
      shared_work.is_running(other._replace(process=f'{process.pid} 1'))
    )
    process.kill()
    # A zombie: the system still lists the process.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    self.assertFalse(shared_work.is_running(other))
    process.communicate()
    self.assertFalse(shared_work.is_running(other))

  def test_workers_of_other_machines_are_unknown(self):
    worker = shared_work.this_worker()
    for machine in ('', 'elsewhere'):
      self.assertIsNone(
        shared_work.is_running(worker._replace(machine=machine))
      )

  def test_a_garbled_process_does_not_run(self):
    worker = shared_work.this_worker()
    for process in ('', 'x', '-1 2'):
      self.assertFalse(shared_work.is_running(worker._replace(process=process)))


if __name__ == '__main__':
  absltest.main()
