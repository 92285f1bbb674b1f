"""Tests for realm_tf.index.held_out_queries."""

from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.index import held_out_queries
from realm_tf.records import block_table
from tests import tiny


class _Model:
  """Embeds a query as the sum of its wordpieces and their number."""

  def __init__(self):
    self.seen = []

  def embed_queries(self, tokens):
    ids = tokens['input_word_ids'].numpy()
    self.seen += [row[row > 0].tolist() for row in ids]
    return tf.constant(
      np.stack([ids.sum(axis=1), (ids > 0).sum(axis=1)], axis=1), tf.float32
    )


class HeldOutQueriesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.table = block_table.BlockTable.open(
      tiny.write_corpus(self.create_tempdir().full_path)
    )

  def _sample(self, count, query_tokens=8):
    model = _Model()
    queries = held_out_queries.sample(
      self.table, model, tiny.SPECIAL_IDS, query_tokens, count
    )
    return model.seen, queries

  def test_queries_are_whole_sentences(self):
    pairs = ('ab', 'cd', 'ef', 'ac', 'bd', 'ce', 'df', 'ea')
    sentences = [f'{first} {second} .' for first, second in pairs]
    expected = [
      [
        tiny.SPECIAL_IDS[0],
        *tiny.TOKENIZER.token_ids_batch([sentence])[0].tolist(),
        tiny.SPECIAL_IDS[1],
      ]
      for sentence in sentences
    ]
    with mock.patch.object(held_out_queries, '_BATCH', 7):
      seen, queries = self._sample(100)
    # All of them, as 100 are drawn of 8: each is missed by 1.6e-6.
    self.assertCountEqual({*map(tuple, seen)}, [*map(tuple, expected)])
    np.testing.assert_array_equal(
      queries, [[sum(row), len(row)] for row in seen]
    )
    self.assertEqual(queries.dtype, np.float32)

  def test_the_same_queries_every_time(self):
    self.assertEqual(self._sample(10)[0], self._sample(10)[0])

  def test_long_sentences_are_cut(self):
    seen, _ = self._sample(5, query_tokens=4)
    self.assertEqual({len(row) for row in seen}, {4})


if __name__ == '__main__':
  absltest.main()
