"""Tests for realm_tf.records.batch_files."""

import os

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import blocks
from realm_tf.corpus import sources
from realm_tf.records import batch_files
from realm_tf.records import encoded_blocks
from tests import tiny


class BatchFilesTest(absltest.TestCase):
  def _assert_round_trip(self, articles):
    batch = encoded_blocks.encode(
      list(blocks.cut_corpus(articles, tiny.TOKENIZER, 10))
    )
    path = os.path.join(self.create_tempdir(), 'batch')
    batch_files.write(batch, path)
    self.assertEqual(os.listdir(os.path.dirname(path)), ['batch'])
    read = batch_files.read(path)
    self.assertEqual(read.records, batch.records)
    for name in ('texts', 'body_ids', 'sentence_ends'):
      for got, want in zip(getattr(read, name), getattr(batch, name)):
        np.testing.assert_array_equal(got, want)
        self.assertEqual(got.dtype, want.dtype)
    np.testing.assert_array_equal(read.hashes, batch.hashes)
    np.testing.assert_array_equal(read.article_rows, batch.article_rows)
    self.assertLen(read.articles, len(batch.articles))
    for got, want in zip(read.articles, batch.articles):
      self.assertEqual(got[:2], want[:2])
      np.testing.assert_array_equal(got[2], want[2])

  def test_batches_come_back(self):
    self._assert_round_trip(
      [
        sources.Article('a b', 'A b. C d. E f. A a.', 'é 東'),
        sources.Article('', 'ü a.', '2'),
      ]
    )

  def test_an_empty_batch_comes_back(self):
    self._assert_round_trip([])


if __name__ == '__main__':
  absltest.main()
