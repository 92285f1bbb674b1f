"""Tests for realm_tf.text.sentencepieces."""

import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf.text import sentencepieces
from tests import sentencepiece_model

_WORDS = 'A', 'b', 'cd'


class SentencepiecesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.model = sentencepiece_model.model(_WORDS)
    self.tokenizer = sentencepieces.SentencepieceTokenizer(self.model)

  def test_words_are_pieces_and_case_counts(self):
    first, second = self.tokenizer.token_ids_batch(['A b cd', 'a'])
    self.assertEqual(first.tolist(), [3, 4, 5])
    self.assertNotIn(3, second.tolist())
    self.assertEqual(self.tokenizer.token_ids_batch([]), [])

  def test_text_comes_back(self):
    self.assertEqual(self.tokenizer.detokenize([3, 5]), 'A cd')
    # T5 has more embeddings than pieces.
    self.assertEqual(self.tokenizer.detokenize([4, 6, 99]), 'b')
    self.assertEqual(self.tokenizer.detokenize([]), '')

  def test_ids_of_t5(self):
    self.assertEqual(self.tokenizer.special_ids, (0, 1))
    self.assertEqual(self.tokenizer.vocab_size, 3 + len(_WORDS))

  def test_another_file_is_a_user_error(self):
    path = os.path.join(self.create_tempdir().full_path, 'spiece.model')
    with open(path, 'wb') as file:
      file.write(b'not a model')
    with self.assertRaisesRegex(errors.UserError, 'spiece.model must be'):
      sentencepieces.SentencepieceTokenizer.from_file(path)


if __name__ == '__main__':
  absltest.main()
