"""Tests for realm_tf.index.held_out_queries."""

from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import held_out_queries
from realm_tf.records import block_table
from tests import tiny

_MASK = tiny.TOKENIZER.mask_id


class HeldOutQueriesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.table = block_table.BlockTable.open(
      tiny.write_corpus(self.create_tempdir().full_path)
    )

  def _sample(self, count, query_tokens=8):
    seen = []

    def embed(ids):
      """Returns the sum and the number of each query's wordpieces."""
      seen.extend(row[row > 0].tolist() for row in ids)
      columns = [ids.sum(axis=1), (ids > 0).sum(axis=1)]
      return np.stack(columns, axis=1).astype(np.float32)

    lengths = config_lib.LengthConfig(query_tokens=query_tokens, max_masked=2)
    queries = held_out_queries.sample(self.table, embed, lengths, _MASK, count)
    return seen, queries

  def test_a_span_of_each_sentence_is_masked(self):
    pairs = ('ab', 'cd', 'ef', 'ac', 'bd', 'ce', 'df', 'ea')
    sentences = [f'{first} {second} .' for first, second in pairs]
    expected = [
      tuple(tiny.TOKENIZER.token_ids_batch([sentence])[0].tolist())
      for sentence in sentences
    ]
    with mock.patch.object(held_out_queries, '_BATCH', 7):
      seen, queries = self._sample(100)
    sources = set()
    for row in seen:
      masked = [i for i, wordpiece in enumerate(row) if wordpiece == _MASK]
      self.assertIn(masked, [[0], [1], [2], [0, 1], [1, 2]])
      sources |= {
        sentence
        for sentence in expected
        if len(sentence) == len(row)
        and all(b in (a, _MASK) for a, b in zip(sentence, row))
      }
    # 100 draws miss one of 8 sentences with a probability of 1.6e-6.
    self.assertCountEqual(sources, expected)
    np.testing.assert_array_equal(
      queries, [[sum(row), len(row)] for row in seen]
    )
    self.assertEqual(queries.dtype, np.float32)

  def test_queries_are_the_same_every_time(self):
    self.assertEqual(self._sample(10)[0], self._sample(10)[0])

  def test_long_sentences_are_cut(self):
    # Embedding adds [CLS] and [SEP].
    seen, _ = self._sample(5, query_tokens=4)
    self.assertEqual({len(row) for row in seen}, {2})
    self.assertTrue(all(_MASK in row for row in seen))


if __name__ == '__main__':
  absltest.main()
