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

  @mock.patch.object(word_search, '_MOST_KEPT', 2)
  def test_searches_once_for_the_same_words(self):
    tokenizer = fakes.tokenizer('rome paris')
    retriever = mock.Mock()
    retriever.retrieve_texts.side_effect = lambda texts, k: mock.Mock(
      block_ids=np.array([[len(text)] * k for text in texts])
    )
    search = word_search.wordpiece_search(retriever, tokenizer)
    rome, paris = (tokenizer.tokenize(text).ids for text in ('rome', 'paris'))
    asked = retriever.retrieve_texts.call_args_list
    np.testing.assert_array_equal(search(np.stack([rome, rome]), 1), [[4], [4]])
    np.testing.assert_array_equal(
      search(np.stack([paris, rome]), 1), [[5], [4]]
    )
    self.assertEqual(
      [call.args for call in asked], [(['rome'], 1), (['paris'], 1)]
    )
    # Another number of blocks is another search; then there are too many.
    np.testing.assert_array_equal(search(np.stack([rome]), 2), [[4, 4]])
    search(np.stack([paris]), 1)
    self.assertEqual(
      [call.args for call in asked[2:]], [(['rome'], 2), (['paris'], 1)]
    )


if __name__ == '__main__':
  absltest.main()
