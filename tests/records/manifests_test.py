"""Tests for realm_tf.records.manifests: a file that changed is found."""

import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf.index import index_builder
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.records import manifests
from realm_tf.training import params_export
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib
from tests import tiny


def _flip(path: str) -> None:
  """Flips a bit of a file's last byte: a header's would show at once."""
  with open(path, 'r+b') as file:
    file.seek(-1, os.SEEK_END)
    byte = file.read(1)[0]
    file.seek(-1, os.SEEK_CUR)
    file.write(bytes([byte ^ 1]))


class ManifestsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.corpus_dir = tiny.write_corpus(self.directory)
    table = block_table.BlockTable.open(self.corpus_dir)
    self.files = table.manifest['files']

  def test_a_flipped_bit_of_any_file_is_found(self):
    self.assertGreater(manifests.verify(self.corpus_dir), 0)
    for name, entry in self.files.items():
      if not entry['bytes']:
        continue
      path = os.path.join(self.corpus_dir, name)
      _flip(path)
      block_table.BlockTable.open(self.corpus_dir)  # Sizes are as they were.
      with self.assertRaisesRegex(errors.UserError, name):
        manifests.verify(self.corpus_dir)
      _flip(path)
    manifests.verify(self.corpus_dir)

  def test_no_index_is_built_of_a_corpus_that_changed(self):
    model_dir = os.path.join(self.directory, 'model')
    inputs = runs.open_inputs(tiny.config(), self.corpus_dir)
    runs.start(model_dir, inputs, setup_lib.ALONE)
    model = realm_model.RealmModel(inputs.config.model, [realm_model.EMBEDDER])
    params_export.publish(model_dir, 0, model)
    index_builder.open_builder(model_dir, self.corpus_dir)
    _flip(os.path.join(self.corpus_dir, 'table', 'body_ids.npy'))
    with self.assertRaisesRegex(errors.UserError, 'body_ids.npy must be as'):
      index_builder.open_builder(model_dir, self.corpus_dir)


if __name__ == '__main__':
  absltest.main()
