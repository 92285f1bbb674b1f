"""Tests for realm_tf.training.pretraining.index_age.

With a clock of its own.
"""

import os
import time

from absl.testing import absltest

from realm_tf.rundir import layout
from realm_tf.rundir import manifests
from realm_tf.rundir import versions
from realm_tf.training.pretraining import index_age


class IndexAgeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.now = 1000.0
    self.ages = {}  # Of other processes' versions, by the wall clock.
    self.age = index_age.IndexAge(
      lambda step: self.ages[step], lambda: self.now
    )

  def test_mean_and_maximum_over_the_steps(self):
    self.age.published(0)
    self.now = 1010.0
    self.age.see(0, 4)
    self.age.published(5)
    self.now = 1012.0
    self.age.see(0, 5)
    self.now = 1018.0
    self.age.see(5, 6)
    # Steps 4, 5 and 1; seconds 10, 12 and 8.
    self.assertEqual(
      self.age.logs(),
      {
        'index_age_steps': 10 / 3,
        'index_age_steps_max': 5.0,
        'index_age_seconds': 10.0,
        'index_age_seconds_max': 12.0,
      },
    )

  def test_each_row_has_its_own(self):
    self.age.published(0)
    self.age.see(0, 100)
    self.age.reset()
    self.assertEqual(self.age.logs(), {})
    self.age.see(0, 2)
    self.assertEqual(self.age.logs()['index_age_steps_max'], 2.0)

  def test_another_process_version_ages_by_this_clock(self):
    self.ages[0] = 30.0
    self.age.see(0, 1)
    self.ages[0] = -1e6  # The wall clock is set back.
    self.now += 5.0
    self.age.see(0, 2)
    self.assertEqual(self.age.logs()['index_age_seconds'], 32.5)

  def test_is_never_negative(self):
    self.ages[500] = -60.0  # Written by a machine whose clock is ahead.
    self.age.see(500, 300)  # By a trainer that resumed from step 300.
    self.assertEqual(set(self.age.logs().values()), {0.0})


class SecsSinceWrittenTest(absltest.TestCase):
  def test_of_the_parameters_then_of_the_index_then_unknown(self):
    run_dir = self.create_tempdir().full_path
    self.assertEqual(index_age.secs_since_written(run_dir, 500), 0.0)
    for root, age in (
      (layout.index_root(run_dir), 100.0),
      (layout.params_root(run_dir), 5000.0),
    ):
      version = versions.publish(root, 500, lambda path: None, {})
      written = time.time() - age
      os.utime(os.path.join(version.path, manifests.NAME), (written, written))
      self.assertAlmostEqual(
        index_age.secs_since_written(run_dir, 500), age, delta=30
      )


if __name__ == '__main__':
  absltest.main()
