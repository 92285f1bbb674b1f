"""Tests for realm_tf.rundir.in_use."""

import os

from absl.testing import absltest

from realm_tf.rundir import in_use
from realm_tf.rundir import layout


class InUseTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path

  def test_reads_what_was_declared_last(self):
    in_use.declare(self.run_dir, 0, [500])
    in_use.declare(self.run_dir, 0, [500, 1000])
    self.assertEqual(in_use.read(self.run_dir), (500, 1000))
    in_use.declare(self.run_dir, 0, [])
    self.assertEqual(in_use.read(self.run_dir), ())

  def test_leaves_nothing_else_behind(self):
    in_use.declare(self.run_dir, 0, [500])
    self.assertEqual(os.listdir(self.run_dir), ['index_in_use.json'])

  def test_each_process_declares_its_own(self):
    in_use.declare(self.run_dir, 0, [500])
    in_use.declare(self.run_dir, 1, [0, 500])
    self.assertEqual(in_use.read(self.run_dir), (0, 500))
    in_use.declare(self.run_dir, 1, [1000])
    self.assertEqual(in_use.read(self.run_dir), (500, 1000))

  def test_nothing_declared_is_nothing(self):
    self.assertEqual(in_use.read(self.run_dir), ())

  def test_what_cannot_be_read_is_nothing(self):
    for content in ('{"steps": [5', '[]', '{"steps": 5}', '{}'):
      with open(layout.index_in_use_file(self.run_dir), 'w') as file:
        file.write(content)
      self.assertEqual(in_use.read(self.run_dir), (), content)

  def test_the_trainer_goes_on_where_it_cannot_write(self):
    missing = os.path.join(self.run_dir, 'missing')
    with self.assertLogs(level='WARNING') as logs:
      in_use.declare(missing, 0, [500])
    self.assertIn(missing, logs.output[0])


if __name__ == '__main__':
  absltest.main()
