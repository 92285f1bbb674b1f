"""Tests for realm_tf.corpus.blocks."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.corpus import blocks
from realm_tf.corpus import sources
from tests import fakes

_TOKENIZER = fakes.tokenizer('. a b c d e f ##x title \u1100 ##\u1161 ##\u11a8')


def _cut(text, max_block_wordpieces, title='Title'):
  article = sources.Article(title, text, 'id-1')
  return list(blocks.cut_batch([article], _TOKENIZER, max_block_wordpieces))


class CutBlocksTest(parameterized.TestCase):
  def test_packs_whole_sentences_greedily(self):
    # Title 1 + specials 3, so 5 tokens of body in a block of 9. The sentences
    # have 3, 2, 4, 2 tokens: 3 + 2 fit, 4 + 2 do not.
    got = _cut('A b.  C.\nD e f. A.', 9)
    self.assertEqual(
      [block.text for block in got], ['A b.  C.', 'D e f.', 'A.']
    )
    self.assertEqual(
      [block.sentence_ends.tolist() for block in got], [[3, 5], [4], [2]]
    )
    self.assertEqual(
      {(b.title, b.article_id) for b in got}, {('Title', 'id-1')}
    )
    self.assertEqual(got[0].title_ids.tolist(), [13])
    self.assertEqual(got[1].body_ids.tolist(), [9, 10, 11, 5])

  @parameterized.parameters(
    # 4 tokens of body: 'ax' is two pieces, so 'a b c ax' has 5.
    ('A b c ax d e f.', ['A b c', 'ax d e', 'f.']),
    ('A b c d e. F.', ['A b c d', 'e. F.']),
    ('axxxxx b.', ['axxx', 'xx b.']),
    # BERT splits a Korean syllable into its letters, here three pieces.
    ('a b c 각 d', ['a b c', '각 d']),
    (' \n', []),
  )
  def test_long_sentences_are_cut_at_words_and_long_words_in_them(
    self, text, expected
  ):
    self.assertEqual([block.text for block in _cut(text, 8)], expected)

  def test_long_title_takes_at_most_half_the_block(self):
    got = _cut('a b c', 10, title='a ' * 20)
    self.assertLen(got[0].title_ids, 5)  # Leaves 10 - 3 - 5 = 2.
    self.assertEqual([block.text for block in got], ['a b', 'c'])

  def test_tokens_match_the_text(self):
    text = 'Á b. C “d” … e\u0301 😀 f! 東京 a? B c ' * 20
    got = _cut(text, 20)
    position = 0
    for block in got:
      np.testing.assert_array_equal(
        block.body_ids, _TOKENIZER.tokenize(block.text).ids
      )
      self.assertLessEqual(3 + 1 + len(block.body_ids), 20)
      self.assertEqual(block.sentence_ends[-1], len(block.body_ids))
      position = text.index(block.text, position) + len(block.text)
    np.testing.assert_array_equal(
      np.concatenate([block.body_ids for block in got]),
      _TOKENIZER.tokenize(text).ids,
    )


if __name__ == '__main__':
  absltest.main()
