"""Tests for realm_tf.training.loop."""

import os
import signal
import threading

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.run import layout
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import step_trainer
from tests import small_disk
from tests import tiny


class _Trainer(step_trainer.StepTrainer):
  """Adds `make(step)` to its weight at every step."""

  def __init__(self, make=lambda step: 1.0):
    model = tf.Module()
    model.weight = tf.Variable(0.0, name='weight')
    self._make = make
    super().__init__(tf_keras.optimizers.legacy.SGD(1.0), model)

  def batches(self, first_step=0):
    for step in range(first_step, 100):
      yield {'x': np.array([self._make(step)], np.float32)}

  def loss_and_logs(self, batch):
    return -self.model.weight * batch['x'][0], {}


class LoopTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = os.path.join(self.create_tempdir().full_path, 'run')
    os.makedirs(self.run_dir)

  def _loop(self, trainer, log_every=1, checkpoint_every=2, **options):
    config = config_lib.PretrainingConfig(
      optimizer=config_lib.OptimizerConfig(1.0, 4),
      log_every_steps=log_every,
      checkpoint_every_steps=checkpoint_every,
    )
    job = job_lib.Job(self.run_dir, **options)
    return loop.Loop(job, config, 0, lambda optimizer: trainer)

  def _train(self, trainer, until, **options):
    made = self._loop(trainer, **options)
    made.train(until, trainer.batches(made.step))
    return made

  def _rows(self):
    return tiny.read_rows(layout.metrics_file(self.run_dir))

  def test_logs_a_json_line_every_log_every_steps(self):
    self._train(_Trainer(), 4, log_every=2, checkpoint_every=4)
    rows = self._rows()
    self.assertEqual([row['step'] for row in rows], [2, 4])
    # The loss is minus the weight: 0, -1, then -2, -3.
    self.assertEqual([row['loss'] for row in rows], [-0.5, -2.5])

  def test_a_run_ends_with_parameters_a_checkpoint_and_a_marker(self):
    self._loop(_Trainer(), checkpoint_every=3).run(_Trainer().batches())
    self.assertEqual(
      os.listdir(layout.params_root(self.run_dir)), ['000000004']
    )
    self.assertTrue(os.path.exists(layout.done_file(self.run_dir)))
    self.assertEqual(self._loop(_Trainer(), resume=True).step, 4)

  def test_a_resumed_run_equals_an_uninterrupted_run(self):
    make = lambda step: 10.0**step
    self._train(_Trainer(make), 3)  # The last checkpoint is at step 2.
    with open(layout.metrics_file(self.run_dir), 'a') as file:
      file.write('{"step": 4, "lo')
    trainer = _Trainer(make)
    resumed = self._loop(trainer, resume=True)
    self.assertEqual(resumed.step, 2)
    self.assertEqual(float(trainer.model.weight), 11.0)
    resumed.train(4, trainer.batches(2))
    self.assertEqual(float(trainer.model.weight), 1111.0)
    self.assertEqual([row['step'] for row in self._rows()], [1, 2, 3, 4])

  def test_sigterm_saves_after_the_step_and_says_how_to_resume(self):
    def make(step):
      if step == 2:
        os.kill(os.getpid(), signal.SIGTERM)
      return 1.0

    trainer = _Trainer(make)
    # The signal comes during the wait for the batch of step 2.
    with self.assertRaisesRegex(errors.Stopped, 'step 2 .*--resume'):
      self._train(trainer, 4, checkpoint_every=100, log_every=100)
    resumed = _Trainer()
    self.assertEqual(self._loop(resumed, resume=True).step, 2)
    self.assertEqual(float(resumed.model.weight), 2.0)
    self.assertEqual(signal.getsignal(signal.SIGTERM), signal.SIG_DFL)

  def test_a_signal_ends_the_wait_for_an_index_that_nothing_builds(self):
    trainer = _Trainer()

    def batches():
      yield {'x': np.ones(1, np.float32)}
      os.kill(os.getpid(), signal.SIGTERM)
      while True:
        trainer.pause()

    with self.assertRaisesRegex(errors.Stopped, 'step [012] .*--resume'):
      self._loop(trainer).train(4, loop.prefetch(batches()))

  def test_a_request_to_stop_waits_for_the_step(self):
    trainer = _Trainer()

    train_step = trainer.train_step

    def asked_after_two(iterator):
      train_step(iterator)
      if int(trainer.global_step) == 2:
        trainer.request_stop()

    trainer.train_step = asked_after_two
    with self.assertRaisesRegex(errors.Stopped, 'step 2 '):
      self._train(trainer, 4)

  def test_steps_that_are_not_finite_are_skipped_and_counted(self):
    make = lambda step: float('nan') if step == 1 else 1.0
    trainer = _Trainer(make)
    self._train(trainer, 4, log_every=4, checkpoint_every=4)
    self.assertEqual(float(trainer.model.weight), 3.0)
    (row,) = self._rows()
    self.assertEqual((row['skipped_steps'], row['skipped_in_a_row']), (1, 0))
    # The losses of the others: 0, -1, -2.
    self.assertEqual(row['loss'], -1.0)
    resumed = _Trainer()
    self._loop(resumed, resume=True)
    self.assertEqual(int(resumed.skipped.total), 1)

  def test_too_many_in_a_row_end_training_in_one_line(self):
    trainer = _Trainer(lambda step: float('inf') if step else 1.0)
    with self.assertRaisesRegex(
      errors.UserError, '10 steps in a row up to step 11'
    ):
      self._train(trainer, 12)
    self.assertEqual(float(trainer.model.weight), 1.0)
    self.assertNotIn('loss', self._rows()[-1])

  def test_a_full_disk_leaves_the_last_checkpoint(self):
    small_disk.mount(self, self.run_dir)
    trainer = _Trainer()
    running = self._train(trainer, 2)
    filler = small_disk.fill(self.run_dir)
    with self.assertRaisesRegex(errors.UserError, 'No space.*from step 2'):
      running.train(4, trainer.batches(2))
    os.remove(filler)
    resumed = _Trainer()
    self._train(resumed, 4, resume=True)
    self.assertEqual(float(resumed.model.weight), 4.0)


class PrefetchTest(absltest.TestCase):
  def test_an_exception_comes_at_its_place(self):
    def items():
      yield 1
      yield 2
      raise ValueError('no third')

    ahead = loop.prefetch(items())
    self.assertEqual([next(ahead), next(ahead)], [1, 2])
    with self.assertRaisesRegex(ValueError, 'no third'):
      next(ahead)

  def test_prepares_the_next_item_while_one_is_used(self):
    prepared = threading.Event()

    def items():
      yield 'in use'
      prepared.set()
      yield 'next'

    ahead = loop.prefetch(items())
    self.assertEqual(next(ahead), 'in use')
    self.assertTrue(prepared.wait(timeout=10))

  def test_begins_items_here_and_ends_them_elsewhere(self):
    begun, threads = [], set()

    def begin(item):
      begun.append((item, threading.current_thread()))

      def end():
        threads.add(threading.current_thread())
        if item == 4:
          raise ValueError('no fourth')
        return 10 * item

      return end

    ahead = loop.prefetch_between_steps(iter(range(6)), begin)
    for item in range(4):
      self.assertEqual(next(ahead), 10 * item)
      # Two more than those in use, in every run.
      expected = [(i, threading.current_thread()) for i in range(item + 3)]
      self.assertEqual(begun, expected)
    self.assertNotIn(threading.current_thread(), threads)
    with self.assertRaisesRegex(ValueError, 'no fourth'):
      next(ahead)

  def test_ends_with_its_last_item(self):
    ahead = loop.prefetch_between_steps(iter('ab'), lambda item: item.upper)
    self.assertEqual(list(ahead), ['A', 'B'])


if __name__ == '__main__':
  absltest.main()
