"""Tests for realm_tf.training.pretraining.index_age."""

import os

from absl.testing import absltest

from realm_tf.rundir import layout
from realm_tf.rundir import manifests
from realm_tf.rundir import versions
from realm_tf.training.pretraining import index_age


class IndexAgeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.now = 2000.0
    self.age = index_age.IndexAge(self.run_dir, lambda: self.now)

  def _write(self, root, step, time):
    version = versions.publish(root(self.run_dir), step, lambda path: None, {})
    os.utime(os.path.join(version.path, manifests.NAME), (time, time))

  def test_mean_and_maximum_over_the_steps_of_a_row(self):
    self._write(layout.params_root, 0, 1990.0)
    self.age.see(0, 4)
    self._write(layout.params_root, 5, 2000.0)
    self.now = 2002.0
    self.age.see(0, 5)
    self.now = 2008.0
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
    self.age.reset()
    self.assertEqual(self.age.logs(), {})

  def test_without_parameters_an_index_has_the_age_of_its_own_files(self):
    self.age.see(5, 9)
    self._write(layout.index_root, 7, 1970.0)
    self.age.see(7, 9)
    self.assertEqual(self.age.logs()['index_age_seconds_max'], 30.0)
    self.assertEqual(self.age.logs()['index_age_seconds'], 15.0)

  def test_is_never_negative(self):
    # The clock of the machine that wrote the files is ahead, and a trainer that
    # resumed from step 300 uses them.
    self._write(layout.params_root, 500, 2060.0)
    self.age.see(500, 300)
    self.assertEqual(set(self.age.logs().values()), {0.0})


if __name__ == '__main__':
  absltest.main()
