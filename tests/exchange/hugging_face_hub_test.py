"""Tests names of the Hugging Face hub, without asking it."""

import fnmatch
from unittest import mock

from absl.testing import absltest
import huggingface_hub
from huggingface_hub import constants
from huggingface_hub import errors as hub_errors

from realm_tf import errors
from realm_tf.exchange import hugging_face_hub

_FILES = {
  'config.json': True,
  '1_Pooling/config.json': True,
  'model.safetensors': True,
  'vocab.txt': True,
  'pytorch_model.bin': False,  # A pickle.
  'modeling.py': False,
}


class HuggingFaceHubTest(absltest.TestCase):
  def test_the_library_copies_the_files_that_run_no_code(self):
    with mock.patch.object(huggingface_hub, 'snapshot_download') as download:
      found = hugging_face_hub.directory('ours/reader')
    self.assertEqual(found, download.return_value)
    (name,), options = download.call_args
    self.assertEqual(name, 'ours/reader')
    patterns = options['allow_patterns']
    for file, is_copied in _FILES.items():
      matches = any(fnmatch.fnmatch(file, each) for each in patterns)
      self.assertEqual(matches, is_copied, file)

  def test_a_directory_wins_over_a_name_and_a_path_asks_nobody(self):
    local = self.create_tempdir('mine').full_path
    with mock.patch.object(huggingface_hub, 'snapshot_download') as download:
      for path in (local, '/no/such', './no/such', 'a/b/c', 'gs://a/b'):
        self.assertEqual(hugging_face_hub.directory(path), path)
    download.assert_not_called()

  def _assert_refused(self, name):
    with self.assertRaisesRegex(
      errors.UserError, f'Found no directory {name}, and of .*Correct'
    ) as caught:
      hugging_face_hub.directory(name)
    self.assertNotIn('\n', str(caught.exception))

  def test_a_model_that_cannot_be_had_is_one_line(self):
    unknown = hub_errors.HTTPError('404 Client Error.\nNot found.')
    with mock.patch.object(
      huggingface_hub, 'snapshot_download', side_effect=unknown
    ):
      self._assert_refused('ours/raeder')
    cache = self.create_tempdir().full_path
    with mock.patch.multiple(
      constants, HF_HUB_OFFLINE=True, HF_HUB_CACHE=cache
    ):
      for name in ('ours/reader', 'reader', 'ours/no--double'):
        self._assert_refused(name)


if __name__ == '__main__':
  absltest.main()
