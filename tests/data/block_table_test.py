"""Tests for realm_tf.data.block_table."""

import tracemalloc

from absl.testing import absltest
import numpy as np

from realm_tf import interfaces
from realm_tf.corpus import sources
from tests import fakes
from tests import tiny

_TOKENIZER = fakes.tokenizer('. a b c')
_ARTICLES = [
  sources.Article('A b', 'A b. C a. B.', 'first'),
  sources.Article('C', 'C. B a.', 'second'),
]


class BlockTableTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Bodies have at most 10 - 3 - 2 = 5 wordpieces for 'A b' and 6 for 'C', so
    # the blocks are 'A b.' (with 'C a.' it has 6), 'C a. B.' and 'C. B a.'.
    self.table = tiny.open_corpus(
      self.create_tempdir().full_path, _ARTICLES, 'corpus', _TOKENIZER, 10
    )

  def test_gathers_wordpieces(self):
    title_ids, body_ids = self.table.gather(
      np.array([[1, 2], [interfaces.NULL_BLOCK, 0]]), 2, 4
    )
    np.testing.assert_array_equal(
      title_ids, [[[6, 7], [8, 0]], [[0, 0], [6, 7]]]
    )
    np.testing.assert_array_equal(  # 'c a. b.' is cut after 4 of 5.
      body_ids, [[[8, 6, 5, 7], [8, 5, 7, 6]], [[0, 0, 0, 0], [6, 7, 5, 0]]]
    )
    self.assertEqual((title_ids.dtype, body_ids.dtype), (np.int32, np.int32))

  def test_lengths_and_sentences(self):
    title_lengths, body_lengths = self.table.lengths()
    self.assertEqual(title_lengths.tolist(), [2, 2, 1])
    self.assertEqual(body_lengths.tolist(), [3, 5, 5])
    self.assertEqual(self.table.sentence_ends(1).tolist(), [3, 5])

  def test_finds_the_blocks_of_an_article(self):
    self.assertEqual(self.table.find_article('first').tolist(), [0, 1])
    self.assertEqual(self.table.find_article('second').tolist(), [2])
    self.assertEqual(self.table.find_article('third').tolist(), [])
    self.assertEqual(self.table.find_title('A b').tolist(), [0, 1])
    self.assertEqual(self.table.find_title('first').tolist(), [])
    for block_id, ids in {0: [0, 1], 1: [0, 1], 2: [2], 3: [], -1: []}.items():
      self.assertEqual(self.table.article_blocks(block_id).tolist(), ids)

  def test_finding_an_article_copies_no_column(self):
    rows = np.arange(-1, 10**6, dtype=np.int32)
    rows[:3] = [0, 0, 1]  # The same three, and many more.
    self.table.article_rows = rows
    self.table.find_article('first')  # Maps articles to rows, once.
    tracemalloc.start()
    self.addCleanup(tracemalloc.stop)
    self.assertEqual(self.table.find_article('first').tolist(), [0, 1])
    _, peak = tracemalloc.get_traced_memory()
    self.assertLess(peak, 10**5)  # A copy takes 4 or 8 million bytes.


if __name__ == '__main__':
  absltest.main()
