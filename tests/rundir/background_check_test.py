"""Tests for realm_tf.rundir.background_check."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest

from realm_tf.rundir import background_check
from realm_tf.rundir import manifests


class BackgroundCheckTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = os.path.join(self.create_tempdir().full_path, 'x')
    with manifests.publishing(self.directory) as (staging, _):
      pathlib.Path(staging, 'large').write_bytes(b'abc')
      pathlib.Path(staging, 'small').write_bytes(b'ab')
    self.manifest = manifests.read(self.directory, manifests.ANY)
    self.enter_context(mock.patch.object(manifests, 'SMALL_BYTES', 2))

  def _start(self, pause=lambda: None):
    return background_check.start(self.directory, self.manifest, pause)

  def test_says_in_one_line_that_all_is_well(self):
    pause = mock.Mock()
    with self.assertLogs('absl', 'INFO') as logs:
      self._start(pause).join()
    self.assertLen(logs.records, 1)
    self.assertIn('1 large files', logs.records[0].getMessage())
    pause.assert_called_once()

  def test_names_a_file_that_was_changed(self):
    pathlib.Path(self.directory, 'large').write_bytes(b'abd')
    with self.assertLogs('absl', 'INFO') as logs:
      self._start().join()
    (record,) = logs.records
    self.assertEqual(record.levelname, 'ERROR')
    self.assertIn('large must be as it was', record.getMessage())

  def test_small_files_need_no_thread(self):
    self.manifest['files'].pop('large')
    self.assertIsNone(self._start())


if __name__ == '__main__':
  absltest.main()
