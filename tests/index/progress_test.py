"""Tests for realm_tf.index.progress."""

import glob
import os

from absl.testing import absltest
import tensorflow as tf

from realm_tf.index import progress as progress_lib


def _scalars(directory):
  """Returns {(tag, step): value} of all event files below `directory`."""
  found = {}
  for path in glob.glob(os.path.join(directory, '**', '*.v2'), recursive=True):
    for record in tf.data.TFRecordDataset(path):
      event = tf.compat.v1.Event.FromString(record.numpy())
      for value in event.summary.value:
        found[value.tag, event.step] = float(tf.make_ndarray(value.tensor))
  return found


class ProgressTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.now = 50.0
    self.progress = progress_lib.Progress(self.directory, lambda: self.now)

  def _embed(self, done, total, at):
    self.now = at
    self.progress(done, total)

  def test_logs_rate_and_expected_end_each_minute(self):
    with self.assertLogs('absl', 'INFO') as logs:
      self._embed(100, 1000, at=50)  # 100 were embedded earlier.
      self._embed(200, 1000, at=100)
      self._embed(400, 1000, at=110)  # 300 in 60 s; 600 to go.
      self._embed(1000, 1000, at=125)
    self.assertEqual(
      [line.split(':', 2)[2] for line in logs.output],
      [
        'Embedded 400 of 1000 blocks, 5 a second, 120 s to go.',
        'Embedded 1000 of 1000 blocks, 12 a second, 0 s to go.',
      ],
    )
    self.assertEqual(
      _scalars(self.directory),
      {
        ('refresh/blocks_per_second', 300): 5.0,
        ('refresh/share_embedded', 300): 0.4000000059604645,
        ('refresh/blocks_per_second', 900): 12.0,
        ('refresh/share_embedded', 900): 1.0,
      },
    )

  def test_each_refresh_has_its_own_rate(self):
    with self.assertLogs('absl', 'INFO') as logs:
      self._embed(0, 10, at=0)
      self._embed(10, 10, at=2)
      self.progress.start()
      self._embed(0, 10, at=100)
      self._embed(10, 10, at=110)
    self.assertLen(logs.output, 2)
    self.assertIn('5 a second', logs.output[0])
    self.assertIn('1 a second', logs.output[1])
    # TensorBoard's axis continues.
    self.assertIn(('refresh/share_embedded', 20), _scalars(self.directory))

  def test_works_without_tensorboard(self):
    with self.assertLogs('absl', 'INFO') as logs:
      progress_lib.Progress()(1, 1)
    self.assertIn('Embedded 1 of 1 blocks', logs.output[0])


if __name__ == '__main__':
  absltest.main()
