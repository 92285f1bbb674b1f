"""Tests for realm_tf.training.step_trainer."""

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.training import step_trainer


class _ProductTrainer(step_trainer.StepTrainer):
  """The loss is w * mean(x), without `unused`."""

  def __init__(self, batches):
    self.w, self.unused = tf.Variable(1.0), tf.Variable(7.0)
    variables = [self.w, self.unused]
    super().__init__(
      tf_keras.optimizers.legacy.SGD(0.5), tf.Module(), variables
    )
    self.train_dataset = batches

  def loss_and_logs(self, batch):
    return self.w * tf.reduce_mean(batch['x']), {'x': batch['x']}

  def host_logs(self):
    return {'extra': 3.0}


def _batches(*rows):
  return iter([{'x': np.array(row, np.float32)} for row in rows])


class StepTrainerTest(tf.test.TestCase):
  def test_updates_and_logs_means_over_the_loop(self):
    trainer = _ProductTrainer(_batches([1, 3], [4, 4]))
    logs = trainer.train(tf.constant(2))
    # w: 1 -> 1 - 0.5 * 2 = 0 -> 0 - 0.5 * 4 = -2. Losses: 1 * 2, then 0 * 4.
    self.assertAllClose(trainer.w, -2.0)
    self.assertAllClose(logs['loss'], 1.0)
    self.assertAllClose(logs['x'], 3.0)
    self.assertAllClose(logs['gradient_norm'], 3.0)
    self.assertEqual(logs['extra'], 3.0)
    self.assertEqual(int(trainer.global_step), 2)
    self.assertGreater(logs['examples_per_second'], 0)
    self.assertAllClose(trainer.unused, 7.0)

  def test_each_loop_logs_its_own_means_and_keeps_the_last_batch(self):
    trainer = _ProductTrainer(_batches([1], [5]))
    for x in 1.0, 5.0:
      self.assertAllClose(trainer.train(tf.constant(1))['x'], x)
      self.assertAllEqual(trainer.last_batch['x'], [x])


if __name__ == '__main__':
  tf.test.main()
