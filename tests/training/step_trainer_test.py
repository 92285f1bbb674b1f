"""Tests for realm_tf.training.step_trainer."""

from unittest import mock

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import step_trainer


class _ProductTrainer(step_trainer.StepTrainer):
  """The loss is w * mean(x), without `unused`."""

  def __init__(self, batches, optimizer=None):
    self.w, self.unused = tf.Variable(1.0), tf.Variable(7.0)
    variables = [self.w, self.unused]
    optimizer = optimizer or tf_keras.optimizers.legacy.SGD(0.5)
    super().__init__(optimizer, tf.Module(), variables)
    self.train_dataset = batches

  def loss_and_logs(self, batch):
    return self.w * tf.reduce_mean(batch['x']), {'x': batch['x']}


def _batches(*rows):
  return iter(
    {'x': np.array(row, np.float32), 'age': i}
    for i, row in enumerate(rows, start=1)
  )


class StepTrainerTest(tf.test.TestCase):
  def test_updates_and_logs_means_over_the_loop(self):
    trainer = _ProductTrainer(_batches([1, 3], [4, 4]))
    logs = trainer.train(tf.constant(2))
    # w: 1 -> 1 - 0.5 * 2 = 0 -> 0 - 0.5 * 4 = -2. Losses: 1 * 2, then 0 * 4.
    self.assertAllClose(trainer.w, -2.0)
    self.assertAllClose(logs['loss'], 1.0)
    self.assertAllClose(logs['x'], 3.0)
    self.assertAllClose(logs['gradient_norm'], 3.0)
    self.assertEqual((logs['age'], logs['age_max']), (1.5, 2))
    self.assertEqual(int(trainer.global_step), 2)
    self.assertGreater(logs['examples_per_second'], 0)
    self.assertAllClose(trainer.unused, 7.0)

  def test_clips_the_norm_of_the_gradients_to_one(self):
    optimizer = optimizer_lib.create(config_lib.OptimizerConfig(1.0, 100))
    trainer = _ProductTrainer(_batches([0.5], [40]), optimizer)
    # The first moment is 0.1 of the gradient, then of 0.9 it and the clipped.
    for norm, moment in (0.5, 0.05), (40.0, 0.045 + 0.1):
      logs = trainer.train(tf.constant(1))
      self.assertAllClose(logs['gradient_norm'], norm)
      self.assertAllClose(optimizer.get_slot(trainer.w, 'm'), moment)

  def test_each_loop_logs_its_own_means_and_keeps_the_last_batch(self):
    trainer = _ProductTrainer(_batches([1], [5]))
    for x in 1.0, 5.0:
      self.assertAllClose(trainer.train(tf.constant(1))['x'], x)
      self.assertAllEqual(trainer.last_batch['x'], [x])


class StepLogsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.skipped = step_trainer.SkippedSteps()

  def _add(self, logs, is_good, **values):
    counts = self.skipped.count(tf.constant(is_good))
    logs.add(logs.as_vector({**values, **counts}))

  def test_means_over_examples_of_any_shape(self):
    means = step_trainer.StepLogs().mean_over_replicas(
      {'b': tf.constant([[1.0, 2.0], [3.0, 6.0]]), 'a': tf.constant(True)}
    )
    self.assertAllClose(means, {'b': 3.0, 'a': 1.0})

  def test_returns_the_second_to_last_step(self):
    logs = step_trainer.StepLogs()
    for value in (0.0, 1.0, 2.0):
      self.assertEqual(logs.before_last('stop'), 0.0)
      self._add(logs, True, stop=value, a=value)
    self.assertEqual(logs.before_last('stop'), 1.0)

  def test_rates_count_the_time_since_the_loop_began(self):
    clock = mock.Mock(side_effect=[10.0, 20.0, 28.0])
    with mock.patch.object(step_trainer.time, 'monotonic', clock):
      logs = step_trainer.StepLogs()
      logs.waited(9.0, 900)  # Before the loop.
      logs.reset()
      logs.waited(1.5, 30)
      logs.waited(0.5, 10)
      # 40 examples and 2 s of waiting in 28 - 20 s.
      self.assertEqual(
        logs.means(),
        {'examples_per_second': 5.0, 'share_of_time_waiting': 0.25},
      )


if __name__ == '__main__':
  tf.test.main()
