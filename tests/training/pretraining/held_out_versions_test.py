"""Tests of the waiting of realm_tf.training.pretraining.held_out_versions."""

import types
from unittest import mock

from absl.testing import absltest

from realm_tf.config import names
from realm_tf.index import model_files
from realm_tf.rundir import layout
from realm_tf.rundir import metrics_log
from realm_tf.rundir import versions
from realm_tf.training.pretraining import held_out_versions

_METRIC = names.HELD_OUT_METRICS[0]
_STEP = 10


class _Clock:
  """Time that passes only in `sleep`, which runs the events."""

  def __init__(self):
    self.now = 0.0
    self.events = {}  # Seconds -> function.

  def monotonic(self):
    return self.now

  def sleep(self, secs):
    self.now += secs
    for when in [when for when in self.events if when <= self.now]:
      self.events.pop(when)()


class HeldOutVersionsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.clock = _Clock()
    self.enter_context(mock.patch.object(held_out_versions, 'time', self.clock))
    self.enter_context(mock.patch.object(model_files, 'read_params'))
    self._publish(layout.params_root)
    self.versions = held_out_versions.HeldOutVersions(
      types.SimpleNamespace(
        index_layer=lambda path: None, measure=lambda found: {_METRIC: -1.0}
      ),
      types.SimpleNamespace(variables=[], load=lambda arrays: None),
      self.run_dir,
      until=0,
    )

  def _publish(self, root):
    versions.publish(root(self.run_dir), _STEP, lambda path: None, {})

  def _measured(self):
    path = layout.held_out_file(self.run_dir)
    return metrics_log.values(path, _METRIC)

  def test_a_run_with_a_dead_refresher_ends(self):
    with self.assertLogs(level='WARNING') as logs:
      self.versions.wait_for(_STEP)
    self.assertBetween(self.clock.now, 30, 31)
    self.assertIn('No index of step 10 came in 30 s', logs.output[0])
    self.assertEmpty(self._measured())

  def test_an_index_that_comes_late_is_measured(self):
    self.clock.events[20] = lambda: self._publish(layout.index_root)
    self.versions.wait_for(_STEP)
    self.assertBetween(self.clock.now, 20, 21)
    self.assertEqual(self._measured(), {_STEP: -1.0})


if __name__ == '__main__':
  absltest.main()
