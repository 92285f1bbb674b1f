"""Tests for realm_tf.index.model_files."""

import os
import pathlib

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import job
from tests import model_dirs
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
    table = tiny.open_corpus(self.temp)
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


_AFTER = {
  'query_bert/a': np.float32([1, 2]),
  'reader_bert/a': np.float32([5]),
  realm_model.NULL_BIAS: np.float32(4),
}
_BEFORE = {
  'query_bert/a': np.float32([3, -2]),
  'reader_bert/a': np.float32([7]),
}


class AverageTest(tf.test.TestCase):
  def test_embedders_are_averaged_and_the_reader_is_not(self):
    found = model_files.average(_AFTER, _BEFORE, 0.75, where='before')
    self.assertAllEqual(found['query_bert/a'], [1.5, 1.0])
    self.assertEqual(found['query_bert/a'].dtype, np.float32)
    self.assertAllEqual(found['reader_bert/a'], [5])
    self.assertEqual(found[realm_model.NULL_BIAS], 4)  # Learned in training.

  def test_scalars_that_both_have_stay_arrays(self):
    before = {**_BEFORE, realm_model.NULL_BIAS: np.float32(2)}
    found = model_files.average(_AFTER, before, 0.5, where='before')
    self.assertIsInstance(found[realm_model.NULL_BIAS], np.ndarray)
    self.assertEqual(found[realm_model.NULL_BIAS], 3)

  def test_other_embedders_are_refused(self):
    for name, value in (
      ('query_bert/a', np.float32([1, 2, 3])),
      ('query_bert/b', np.float32([1, 2])),
    ):
      with self.assertRaisesRegex(
        errors.UserError, 'query_bert/a .* elsewhere'
      ):
        model_files.average(_AFTER, {name: value}, 0.5, where='elsewhere')

  def _prepare(self):
    """Writes two models."""
    self.directory = self.create_tempdir().full_path
    self.inputs = job.open_inputs(
      tiny.config(), tiny.write_corpus(self.directory)
    )
    self.after = self._publish(
      'after', 5, realm_model.EMBEDDER, realm_model.MASKED_LM
    )
    self.before = self._publish('before', 0, realm_model.EMBEDDER)
    self.output = os.path.join(self.directory, 'average')

  def _write(self, after=None, before=None):
    return model_files.write_average(
      after or self.after, before or self.before, 0.5, output_dir=self.output
    )

  def _publish(self, name, step, *parts):
    path = os.path.join(self.directory, name)
    options = {'step': step, 'seed': step, 'noise': 1.0}
    model_dirs.write(path, self.inputs, parts, **options)
    return path

  def test_a_model_directory_of_the_same_step(self):
    self._prepare()
    self.assertEqual(self._write().step, 5)
    found, after, before = (
      model_files.open_model(path).read_params()
      for path in (self.output, self.after, self.before)
    )
    expected = model_files.average(after, before, 0.5, where='')
    self.assertAllClose(found, expected, rtol=0, atol=0)
    model_files.open_model(
      self.output, [realm_model.EMBEDDER, realm_model.MASKED_LM]
    )
    with self.assertRaisesRegex(errors.UserError, 'Found .*/params'):
      self._write()  # Nothing is replaced.

  def test_models_that_cannot_be_averaged_are_refused(self):
    self._prepare()
    path = self._publish('reader', 0, realm_model.MASKED_LM)
    with self.assertRaisesRegex(errors.UserError, 'must have embedders'):
      self._write(path, path)
    with open(layout.vocab_file(self.before), 'a') as file:
      file.write('g\n')
    with self.assertRaisesRegex(errors.UserError, 'one vocabulary'):
      self._write()
    self.assertFalse(os.path.exists(self.output))


if __name__ == '__main__':
  absltest.main()
