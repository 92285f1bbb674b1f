"""Tests for realm_tf.qa.open_qa.costs."""

import os

from absl.testing import absltest
import numpy as np

from realm_tf.index import model_directory
from realm_tf.model import weights
from realm_tf.qa import open_qa
from realm_tf.run import layout
from realm_tf.run import versions
from tests import tiny


def _model(directory, corpus_dir, **sizes):
  """Writes a model directory; `sizes` are name -> number of weights."""
  vocab_file = layout.vocab_file(corpus_dir)
  model_directory.create(directory, tiny.config(), vocab_file)
  arrays = {
    name.replace('__', '/'): np.zeros(size, np.float32)
    for name, size in sizes.items()
  }
  versions.publish(
    layout.params_root(directory),
    0,
    lambda path: weights.write_arrays(arrays, layout.params_file(path)),
    {},
  )
  return directory


def _bytes(directory):
  return sum(
    os.path.getsize(os.path.join(folder, name))
    for folder, _, names in os.walk(directory)
    for name in names
  )


class CostsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir()
    self.corpus = tiny.write_corpus(self.root.full_path)
    self.model = _model(
      os.path.join(self.root.full_path, 'model'),
      self.corpus,
      query_bert=10,
      block_bert=20,
      reader_bert=3,
      span_reader__w=4,
      masked_lm__w=50,
      t5_transformer__w=600,
    )
    self.index = self.root.create_file('index/0', 'x' * 5000).full_path
    self.index = os.path.dirname(self.index)

  def _measure(self, retriever, **dirs):
    found = open_qa.costs(retriever, self.corpus, self.model, **dirs)
    return found['parameters'], found['megabytes'] * 1e6

  def test_weights_that_a_question_uses_count(self):
    corpus = _bytes(self.corpus)
    # The query tower, the reader and its head: 10 + 3 + 4.
    parameters, size = self._measure('model', index_dir=self.index)
    self.assertEqual(parameters, 17)
    self.assertAlmostEqual(size, 4 * 17 + corpus + 5000, 3)
    parameters, size = self._measure('bm25')
    self.assertEqual(parameters, 7)
    self.assertAlmostEqual(size, 4 * 7 + corpus, 3)
    parameters, size = self._measure('none')
    self.assertEqual(parameters, 600)
    self.assertAlmostEqual(size, 4 * 600, 3)

  def test_another_models_reader_counts_instead(self):
    other = _model(
      os.path.join(self.root.full_path, 'other'),
      self.corpus,
      query_bert=1000,
      reader_bert=2,
      span_reader__w=1,
    )
    parameters, _ = self._measure(
      'model', index_dir=self.index, reader_dir=other
    )
    self.assertEqual(parameters, 13)

  def test_without_a_model_only_the_corpus_counts(self):
    found = open_qa.costs('bm25', self.corpus, None)
    self.assertEqual(found['parameters'], 0)
    self.assertAlmostEqual(found['megabytes'] * 1e6, _bytes(self.corpus), 3)


if __name__ == '__main__':
  absltest.main()
