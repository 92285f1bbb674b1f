"""Tests for realm_tf.records.uncut_blocks."""

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import sources
from realm_tf.records import schema
from realm_tf.records import uncut_blocks
from tests import tiny

_ARTICLES = [
  sources.Article('A', 'A b. C d.', '0'),
  sources.Article('A', ' e  f ', '0'),  # White space is text, too.
  sources.Article('', '', '2'),
  sources.Article('', 'a ' * 500, '3'),  # Longer than any block.
  sources.Article('A', 'A b. C d.', '4'),  # The first once more.
]


class UncutBlocksTest(absltest.TestCase):
  def test_every_text_is_a_block_as_it_is(self):
    (batch,) = uncut_blocks.encode(_ARTICLES, tiny.TOKENIZER)
    blocks = [schema.decode_block(record) for record in batch.records]
    self.assertEqual([b.text for b in blocks], [a.text for a in _ARTICLES])
    self.assertEqual([len(b.body_ids) for b in blocks], [6, 2, 0, 500, 6])
    # 'A b .' and 'C d .' are sentences.
    np.testing.assert_array_equal(blocks[0].sentence_ends, [3, 6])
    np.testing.assert_array_equal(batch.article_rows, [0, 0, 1, 2, 3])

  def test_any_number_of_workers_does_the_same(self):
    articles = [
      sources.Article('', 'a b. ' * (i % 7), str(i)) for i in range(3000)
    ]
    one, two = (
      [
        record
        for batch in uncut_blocks.encode(articles, tiny.TOKENIZER, workers)
        for record in batch.records
      ]
      for workers in (1, 2)
    )
    self.assertEqual(one, two)
    self.assertLen(one, 3000)


if __name__ == '__main__':
  absltest.main()
