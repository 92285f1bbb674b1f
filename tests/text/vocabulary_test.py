"""Tests for realm_tf.text.vocabulary."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.text import vocabulary
from realm_tf.text import wordpiece


class LearnVocabularyTest(absltest.TestCase):
  def test_learns_frequent_words_and_is_deterministic(self):
    texts = ['the river the city'] * 50 + ['rivers of the citadel'] * 20
    learned = vocabulary.learn_vocabulary(iter(texts), size=60)
    self.assertEqual(
      learned[:5], ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
    )
    self.assertLessEqual(len(learned), 60)
    self.assertContainsSubset(['the', 'river', 'city'], learned)
    self.assertEqual(
      learned, vocabulary.learn_vocabulary(reversed(texts), size=60)
    )
    tokenizer = wordpiece.WordpieceTokenizer(learned)
    # Every character of the texts is a piece, so no word of them is [UNK].
    self.assertNotIn(tokenizer.unk_id, tokenizer.tokenize('rrr thecity').ids)

  def test_never_exceeds_the_size(self):
    learned = vocabulary.learn_vocabulary(['alpha beta gamma delta'] * 3, 20)
    self.assertLessEqual(len(learned), 20)

  def test_no_words_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none'):
      vocabulary.learn_vocabulary(['', ' '], 100)


if __name__ == '__main__':
  absltest.main()
