"""Tests for realm_tf.retrieval.word_search."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.retrieval import word_search
from tests import fakes


class WordSearchTest(parameterized.TestCase):
  @parameterized.parameters('bm25', 'tfidf')  # Without links between articles.
  def test_searches_by_wordpieces_without_the_masked_ones(self, kind):
    tokenizer = fakes.tokenizer('a rome paris river ##s tower')
    ids = [list(tokenizer.tokenize(text).ids) for text in ('rome', 'rivers')]
    table = mock.Mock(num_blocks=3)
    table.titles.return_value = ['Rome', 'Paris', 'Lyon']
    table.texts.return_value = ['a tower', 'two rivers', '[MASK] [MASK]']
    retriever = word_search.over_table(kind, table)
    search = word_search.wordpiece_search(retriever, tokenizer)
    mask = tokenizer.mask_id
    found = search(np.array([[*ids[0], mask, mask, 0], [mask, *ids[1], 0]]), 1)
    np.testing.assert_array_equal(found, [[0], [1]])


if __name__ == '__main__':
  absltest.main()
