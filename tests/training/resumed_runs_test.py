"""Tests that a run that is killed several times equals an uninterrupted run.

Trainer and refresher are processes; SIGKILL comes to the trainer or to both at
random moments, and to a refresher that writes an index. With pinned indexes the
losses of all steps and the last parameters are equal.
REALM_NUM_KILLS=10 kills the run ten times, too slow for the test suite.
"""

import os
import random
import time

from absl.testing import absltest

from realm_tf import errors
from realm_tf.run import layout
from realm_tf.run import versions
from tests.training import whole_runs

_NUM_STEPS = 24
_NUM_KILLS = int(os.environ.get('REALM_NUM_KILLS', '2'))


class ResumedRunsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.runs = whole_runs.Runs(
      self.create_tempdir().full_path,
      _NUM_STEPS,
      'pretraining.refresh_every_steps=8',
      'pretraining.checkpoint_every_steps=4',
    )

  def _kill_at(self, name, step):
    """Trains on, and kills the trainer soon after the step."""
    trainer = self.runs.start_trainer(name, '--resume')
    self.runs.forks.await_from(
      trainer, lambda: max(self.runs.losses(name), default=0) >= step
    )
    time.sleep(random.random() * 0.1)
    self.runs.forks.kill(trainer)

  def test_a_run_killed_several_times_equals_an_uninterrupted_run(self):
    self.runs.forks.finish(
      self.runs.start_trainer('whole'), self.runs.start_refresher('whole')
    )
    expected = self.runs.losses('whole')
    self.assertEqual(sorted(expected), list(range(1, _NUM_STEPS + 1)))
    steps = random.Random(0).sample(range(1, _NUM_STEPS), _NUM_KILLS)
    refresher = self.runs.start_refresher('killed')
    for number, step in enumerate(sorted(steps)):
      self._kill_at('killed', step)
      if number % 2:  # Else the refresher lives on.
        self.runs.forks.kill(refresher)
        refresher = self.runs.start_refresher('killed')
    trainer = self.runs.start_trainer('killed', '--resume')
    self.runs.forks.finish(trainer, refresher)
    self.assertEqual(self.runs.losses('killed'), expected)
    self.assertEqual(
      self.runs.fingerprint('killed'), self.runs.fingerprint('whole')
    )

  def _kill_at_its_work(self, name):
    """Kills a refresher that writes an index; returns the version's path."""
    root = layout.index_root(self.runs.run_dir(name))
    refresher = self.runs.start_refresher(name)
    self.runs.forks.await_from(
      refresher, lambda: os.path.isdir(root) and bool(os.listdir(root))
    )
    self.runs.forks.kill(refresher)
    return versions.version_path(root, 0)

  def test_a_trainer_goes_on_after_its_refresher_was_killed(self):
    trainer = self.runs.start_trainer('one')
    with self.assertRaisesRegex(errors.UserError, 'Found no manifest'):
      versions.verify(self._kill_at_its_work('one'))
    self.assertEmpty(self.runs.losses('one'))  # It reads no half of an index.
    self.runs.forks.finish(trainer, self.runs.start_refresher('one'))
    newest = versions.newest(layout.index_root(self.runs.run_dir('one')))
    self.assertEqual(newest.step, _NUM_STEPS)
    versions.verify(newest.path)
    for row in self.runs.rows('one'):
      self.assertBetween(row['index_age_steps'], 0, row['step'])


if __name__ == '__main__':
  absltest.main()
