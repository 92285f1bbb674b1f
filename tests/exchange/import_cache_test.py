"""Tests for realm_tf.exchange.import_cache."""

import os
from unittest import mock

from absl.testing import absltest
import numpy as np

import realm_tf
from realm_tf import errors
from realm_tf.exchange import hugging_face
from realm_tf.exchange import import_cache
from realm_tf.exchange import model_writing
from realm_tf.qa import loading
from realm_tf.run import layout
from tests import forks
from tests import tiny
from tests.exchange import small_bert
from tests.serving import small_models

_CONFIG = small_bert.CONFIG | {
  'architectures': ['BertForQuestionAnswering'],
  'hidden_size': 4,
  'num_hidden_layers': 1,
  'vocab_size': tiny.TOKENIZER.vocab_size,
  'max_position_embeddings': 64,
}


class ImportCacheTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.source = os.path.join(self.directory, 'source')
    self.cache = os.path.join(self.directory, 'cache')
    self._write(seed=0)
    self.enter_context(
      mock.patch.dict(os.environ, {'XDG_CACHE_HOME': self.cache})
    )

  def _write(self, seed):
    rng = np.random.default_rng(seed)
    arrays = small_bert.random_weights(_CONFIG, rng)
    arrays = {f'bert.{name}': array for name, array in arrays.items()}
    arrays['qa_outputs.weight'] = rng.normal(size=[2, 4]).astype(np.float32)
    arrays['qa_outputs.bias'] = np.zeros([2], np.float32)
    small_bert.write(self.source, _CONFIG, arrays, tiny.TOKENIZER.vocabulary)

  def _model_dir(self):
    import_cache.model_dir.cache_clear()  # As in another process.
    return import_cache.model_dir(f'hf:{self.source}')

  def test_a_source_is_imported_once_and_again_after_a_change(self):
    path = self._model_dir()
    with mock.patch.object(hugging_face, 'load') as load:
      self.assertEqual(self._model_dir(), path)
    load.assert_not_called()
    self._write(seed=1)
    self.assertNotEqual(self._model_dir(), path)
    self.assertLen(os.listdir(os.path.join(self.cache, 'realm_tf')), 2)

  def test_a_failed_import_leaves_nothing(self):
    full = mock.Mock(side_effect=errors.UserError('The disk is full.'))
    with (
      mock.patch.object(model_writing, 'write', full),
      self.assertRaisesRegex(errors.UserError, 'full'),
    ):
      self._model_dir()
    self.assertEmpty(os.listdir(os.path.join(self.cache, 'realm_tf')))

  def test_a_cache_that_cannot_be_written_is_a_users_mistake(self):
    file = os.path.join(self.source, 'config.json')
    with (
      mock.patch.dict(os.environ, XDG_CACHE_HOME=file),
      self.assertRaisesRegex(errors.UserError, 'Set XDG_CACHE_HOME'),
    ):
      self._model_dir()

  def test_other_paths_stay_as_they_are(self):
    self.assertEqual(import_cache.model_dir(self.source), self.source)

  def test_a_model_answers_with_a_reader_of_another_project(self):
    path, corpus = small_models.write_all(self.directory)
    found = realm_tf.load(
      path, corpus, reader_dir=f'hf:{self.source}', num_read=2
    )
    loaded, questions = loading.load(path, corpus), ['a b ?', 'c']
    expected, own = (
      loading.answerer_of(
        loaded, loading.Choices(num_read=2, reader_dir=reader_dir)
      ).answer(questions)
      for reader_dir in (self._model_dir(), None)
    )
    self.assertEqual(found.answer(questions), expected)
    self.assertNotEqual(expected, own)
    self.assertTrue(os.path.exists(layout.vocab_file(self._model_dir())))

  def test_a_reader_of_another_project_is_evaluated(self):
    path, corpus = small_models.write_all(self.directory)
    asked = self.create_tempfile('a.jsonl', '{"question": "a", "answers": "b"}')
    flags = [f'--model_dir={path}', f'--corpus_dir={corpus}']
    flags += [
      f'--reader_dir=hf:{self.source}',
      f'--questions={asked.full_path}',
    ]
    flags += [f'--output_dir={self.directory}/found']
    (done,) = forks.run_all([('evaluate', flags)], XDG_CACHE_HOME=self.cache)
    self.assertEqual(done.code, 0, done.stderr)
    self.assertEqual(os.listdir(self.cache), ['realm_tf'])


if __name__ == '__main__':
  absltest.main()
