"""Tests for realm_tf.rundir.model_directory."""

import os
import pathlib

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions

_VOCABULARY = '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n'


class ModelDirectoryTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    temp = self.create_tempdir().full_path
    self.path = os.path.join(temp, 'run')
    self.vocab_file = os.path.join(temp, 'words.txt')
    pathlib.Path(self.vocab_file).write_text(_VOCABULARY)
    self.config = config_lib.ExperimentConfig(seed=7)

  def _create(self):
    model_directory.create(self.path, self.config, self.vocab_file)

  def _publish(self, root, step):
    write = lambda path: pathlib.Path(path, 'x').write_text('x')
    return versions.publish(root(self.path), step, write, {})

  def test_finds_config_and_newest_versions(self):
    self._create()
    params = [self._publish(layout.params_root, step) for step in (500, 1000)]
    index = self._publish(layout.index_root, 500)
    found = model_directory.open_directory(self.path)
    self.assertEqual(
      found,
      model_directory.ModelDirectory(self.path, self.config, params[1], index),
    )
    self.assertEqual(
      pathlib.Path(layout.vocab_file(self.path)).read_text(), _VOCABULARY
    )

  def test_index_may_be_missing(self):
    self._create()
    self._publish(layout.params_root, 0)
    self.assertIsNone(model_directory.open_directory(self.path).index)

  def test_creating_again_replaces_config_and_vocabulary(self):
    self._create()
    self._publish(layout.params_root, 0)
    rules = pathlib.Path(self.path, 'tokenizer_config.json')
    self.assertFalse(rules.exists())
    pathlib.Path(self.vocab_file).write_text(f'{_VOCABULARY}The\n')
    beside = pathlib.Path(self.vocab_file).with_name('tokenizer_config.json')
    beside.write_text('{"do_lower_case": false}')
    self.config = config_lib.ExperimentConfig(seed=8)
    self._create()
    self.assertEqual(model_directory.open_directory(self.path).config.seed, 8)
    self.assertEqual(
      pathlib.Path(layout.vocab_file(self.path)).read_text(),
      f'{_VOCABULARY}The\n',
    )
    self.assertIn('"do_lower_case": false', rules.read_text())
    beside.unlink()
    self._create()
    self.assertFalse(rules.exists())

  def test_other_directory_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'no .*run/vocab.txt'):
      model_directory.open_directory(self.path)

  def test_no_complete_parameters_is_a_user_error(self):
    self._create()
    os.makedirs(os.path.join(layout.params_root(self.path), '000000500'))
    with self.assertRaisesRegex(errors.UserError, 'none in .*run/params'):
      model_directory.open_directory(self.path)

  def test_no_config_is_a_user_error(self):
    self._create()
    self._publish(layout.params_root, 0)
    os.remove(os.path.join(self.path, 'config.json'))
    with self.assertRaisesRegex(errors.UserError, 'config.json'):
      model_directory.open_directory(self.path)

  def test_vocabularies_must_agree(self):
    manifest = {'vocabulary_sha256': 'a' * 64}
    model_directory.check_vocabulary(self.path, 'a' * 64, manifest)
    with self.assertRaisesRegex(
      errors.UserError, 'sha256 b{12} and a corpus with a{12}'
    ):
      model_directory.check_vocabulary(self.path, 'b' * 64, manifest)


if __name__ == '__main__':
  absltest.main()
