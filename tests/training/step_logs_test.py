"""Tests for realm_tf.training.step_logs."""

from unittest import mock

import tensorflow as tf

from realm_tf.training import step_logs


class StepLogsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.skipped = step_logs.SkippedSteps()

  def _add(self, logs, is_good, **values):
    counts = self.skipped.count(tf.constant(is_good))
    logs.add(logs.as_vector({**values, **counts}))

  def test_counts_skipped_steps_in_all_and_in_a_row(self):
    counts = [
      self.skipped.count(tf.constant(is_good))
      for is_good in (False, False, True, False)
    ]
    names = 'skipped_steps', 'skipped_in_a_row'
    self.assertAllEqual(
      [[count[name] for name in names] for count in counts],
      [[1, 1], [2, 2], [2, 0], [3, 1]],
    )

  def test_means_over_examples_of_any_shape(self):
    means = step_logs.StepLogs().mean_over_replicas(
      {'b': tf.constant([[1.0, 2.0], [3.0, 6.0]]), 'a': tf.constant(True)}
    )
    self.assertAllClose(means, {'b': 3.0, 'a': 1.0})

  def test_a_loop_has_the_means_of_its_good_steps(self):
    logs = step_logs.StepLogs()
    self._add(logs, True, loss=100.0)
    logs.reset()
    for is_good, loss in ((True, 1.0), (False, float('nan')), (True, 5.0)):
      self._add(logs, is_good, loss=loss)
    row = logs.means()
    self.assertAllClose(row['loss'], 3.0)
    self.assertEqual((row['skipped_steps'], row['skipped_in_a_row']), (1, 0))

  def test_a_loop_without_good_steps_only_counts(self):
    logs = step_logs.StepLogs()
    for _ in range(2):
      self._add(logs, False, loss=float('inf'))
    row = logs.means()
    self.assertNotIn('loss', row)
    self.assertEqual((row['skipped_steps'], row['skipped_in_a_row']), (2, 2))

  def test_returns_the_second_to_last_step(self):
    logs = step_logs.StepLogs()
    for value in (0.0, 1.0, 2.0):
      self.assertEqual(logs.before_last('stop'), 0.0)
      self._add(logs, True, stop=value, a=value)
    self.assertEqual(logs.before_last('stop'), 1.0)

  def test_rates_count_the_time_since_the_loop_began(self):
    clock = mock.Mock(side_effect=[10.0, 20.0, 28.0])
    with mock.patch.object(step_logs.time, 'monotonic', clock):
      logs = step_logs.StepLogs()
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
