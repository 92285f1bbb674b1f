"""Tests for realm_tf.index.held_out_queries."""

from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf.index import held_out_queries
from realm_tf.records import block_table
from tests import tiny


class HeldOutQueriesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.table = block_table.BlockTable.open(
      tiny.write_corpus(self.create_tempdir().full_path)
    )

  def _sample(self, count, query_tokens=8):
    seen = []

    def embed(ids):
      """Returns the sum of each query's wordpieces, and their number."""
      seen.extend(row[row > 0].tolist() for row in ids)
      columns = [ids.sum(axis=1), (ids > 0).sum(axis=1)]
      return np.stack(columns, axis=1).astype(np.float32)

    queries = held_out_queries.sample(self.table, embed, query_tokens, count)
    return seen, queries

  def test_queries_are_whole_sentences(self):
    pairs = ('ab', 'cd', 'ef', 'ac', 'bd', 'ce', 'df', 'ea')
    sentences = [f'{first} {second} .' for first, second in pairs]
    expected = [
      tuple(tiny.TOKENIZER.token_ids_batch([sentence])[0].tolist())
      for sentence in sentences
    ]
    with mock.patch.object(held_out_queries, '_BATCH', 7):
      seen, queries = self._sample(100)
    # All of them, as 100 are drawn of 8: each is missed by 1.6e-6.
    self.assertCountEqual({*map(tuple, seen)}, expected)
    np.testing.assert_array_equal(
      queries, [[sum(row), len(row)] for row in seen]
    )
    self.assertEqual(queries.dtype, np.float32)

  def test_the_same_queries_every_time(self):
    self.assertEqual(self._sample(10)[0], self._sample(10)[0])

  def test_long_sentences_are_cut(self):
    # [CLS] and [SEP] are added when they are embedded.
    seen, _ = self._sample(5, query_tokens=4)
    self.assertEqual({len(row) for row in seen}, {2})


if __name__ == '__main__':
  absltest.main()
