"""Tests for realm_tf.index.model_files."""

import os
import pathlib

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.data import block_table
from realm_tf.index import model_files
from realm_tf.run import layout
from realm_tf.run import versions
from tests import tiny

_VOCABULARY = '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n'


class ModelFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.temp = self.create_tempdir().full_path
    self.path = os.path.join(self.temp, 'run')
    self.vocab_file = pathlib.Path(self.temp, 'words.txt')
    self.vocab_file.write_text(_VOCABULARY)

  def _create(self, seed=7):
    config = config_lib.ExperimentConfig(seed=seed)
    model_files.create(self.path, config, str(self.vocab_file))

  def _publish(self, root, step):
    write = lambda path: pathlib.Path(path, 'x').write_text('x')
    return versions.publish(root(self.path), step, write, {})

  def test_finds_config_and_newest_versions(self):
    self._create()
    params = [self._publish(layout.params_root, step) for step in (500, 1000)]
    opened = model_files.open_model(self.path)
    self.assertEqual((opened.config.seed, opened.params), (7, params[1]))
    self.assertSequenceEqual(opened.tokenizer.vocabulary, _VOCABULARY.split())
    self.assertIsNone(opened.newest_index)
    index = self._publish(layout.index_root, 500)
    self.assertEqual(model_files.open_model(self.path).newest_index, index)

  def test_creating_again_replaces_config_and_vocabulary(self):
    self._create()
    self._publish(layout.params_root, 0)
    rules = pathlib.Path(self.path, 'tokenizer_config.json')
    self.assertFalse(rules.exists())
    self.vocab_file.write_text(f'{_VOCABULARY}The\n')
    rules_of_vocabulary = self.vocab_file.with_name('tokenizer_config.json')
    rules_of_vocabulary.write_text('{"do_lower_case": false}')
    self._create(seed=8)
    opened = model_files.open_model(self.path)
    self.assertEqual(opened.config.seed, 8)
    self.assertEqual(opened.tokenizer.vocabulary[-1], 'The')
    self.assertIn('"do_lower_case": false', rules.read_text())
    rules_of_vocabulary.unlink()
    self._create()
    self.assertFalse(rules.exists())

  def test_missing_files_are_user_errors(self):
    with self.assertRaisesRegex(errors.UserError, 'no .*run/vocab.txt'):
      model_files.open_model(self.path)
    self._create()
    os.makedirs(os.path.join(layout.params_root(self.path), '000000500'))
    with self.assertRaisesRegex(errors.UserError, 'none in .*run/params'):
      model_files.open_model(self.path)
    self._publish(layout.params_root, 0)
    os.remove(os.path.join(self.path, 'config.json'))
    with self.assertRaisesRegex(errors.UserError, 'config.json'):
      model_files.open_model(self.path)

  def test_vocabularies_must_agree(self):
    table = block_table.BlockTable.open(tiny.write_corpus(self.temp))
    self._create()
    self._publish(layout.params_root, 0)
    with self.assertRaisesRegex(
      errors.UserError, 'sha256 .* and a corpus with .*--vocab_file='
    ):
      model_files.open_model(self.path, table=table)
    self.vocab_file.write_text(
      ''.join(f'{piece}\n' for piece in tiny.TOKENIZER.vocabulary)
    )
    self._create()
    self.assertIs(model_files.open_model(self.path, table=table).table, table)


if __name__ == '__main__':
  absltest.main()
