"""Tests for realm_tf.text.wordpiece."""

import hashlib
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.text import vocabulary
from realm_tf.text import wordpiece

_VOCABULARY = (
  *'[PAD] [UNK] [CLS] [SEP] [MASK] cafe au la ##it . x ##y 東 京 fine'.split(),
  *('##s', '##x', '##\u1112', '##\u1161', '##\u11ab'),
)
_TOKENIZER = wordpiece.WordpieceTokenizer(_VOCABULARY)


def _pieces(text):
  tokens = _TOKENIZER.tokenize(text)
  return [(_VOCABULARY[i], text[a:b]) for i, a, b in zip(*tokens)]


class WordpieceTokenizerTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('case', 'Cafe lait', [('cafe', 'Cafe'), ('la', 'la'), ('##it', 'it')]),
    ('composed_accent', 'Café au', [('cafe', 'Café'), ('au', 'au')]),
    ('combining_mark', 'cafe\u0301 au', [('cafe', 'cafe\u0301'), ('au', 'au')]),
    ('emoji_before', 'x 😀 au', [('x', 'x'), ('[UNK]', '😀'), ('au', 'au')]),
    ('cjk_needs_no_space', '東京x', [('東', '東'), ('京', '京'), ('x', 'x')]),
    ('ligature_stays', 'ﬁnes', [('[UNK]', 'ﬁnes')]),
    ('ellipsis_stays', 'x …', [('x', 'x'), ('[UNK]', '…')]),
    ('syllable', 'x한', [('x', 'x'), *((f'##{c}', '한') for c in '한')]),
    ('zero_width', 'x​y', [('x', 'x'), ('##y', 'y')]),
    ('no_special', '[MASK]', [('[UNK]', c) for c in ('[', 'MASK', ']')]),
    (
      'longest_word',
      'xy' * 50,
      [('x', 'x')] + [('##y', 'y'), ('##x', 'x')] * 49 + [('##y', 'y')],
    ),
    (
      'too_long',
      'xy' * 50 + 'y-x',
      [('[UNK]', 'xy' * 50 + 'y'), ('[UNK]', '-'), ('x', 'x')],
    ),
    ('no_break_space', 'x\u00a0au', [('x', 'x'), ('au', 'au')]),
    ('nul', 'x\0y', [('x', 'x'), ('##y', 'y')]),
    ('empty', '', []),
    ('white_space', ' \n ', []),
  )
  def test_offsets_are_characters_of_the_original(self, text, expected):
    self.assertEqual(_pieces(text), expected)

  def test_lone_surrogate_counts_as_one_character(self):
    tokens = _TOKENIZER.tokenize('\ud83d au')
    self.assertEqual(tokens.starts.tolist(), [0, 2])

  def test_batch_equals_single_calls(self):
    texts = ['é au lait', '', '😀😀 cafe', '東 x']
    batch = _TOKENIZER.tokenize_batch(texts)
    ids = _TOKENIZER.token_ids_batch(texts)
    for text, tokens, only_ids in zip(texts, batch, ids, strict=True):
      for got, expected in zip(tokens, _TOKENIZER.tokenize(text)):
        self.assertEqual(got.dtype, np.int32)
        np.testing.assert_array_equal(got, expected)
      np.testing.assert_array_equal(only_ids, tokens.ids)
    self.assertEqual(_TOKENIZER.tokenize_batch([]), [])
    self.assertEqual(_TOKENIZER.token_ids_batch([]), [])

  def test_knows_its_special_ids(self):
    ids = (_TOKENIZER.pad_id, _TOKENIZER.unk_id, _TOKENIZER.mask_id)
    self.assertEqual((*ids, *_TOKENIZER.special_ids), (0, 1, 4, 2, 3))
    self.assertEqual(_TOKENIZER.vocab_size, 20)

  def test_continuation_and_detokenize(self):
    ids = np.array([7, 8, 9, 0])  # la ##it . [PAD]
    self.assertEqual(
      _TOKENIZER.continuation(ids).tolist(), [False, True, False, False]
    )
    self.assertEqual(_TOKENIZER.detokenize(ids), 'lait .')

  def test_pieces_inside_words_of_scripts_with_spaces(self):
    # Latin, Arabic; the end of a Thai phrase, Katakana, a Korean particle.
    pieces = 'la ##it ##ات ##ไทย ##ンド ##에서'.split()
    tokenizer = wordpiece.WordpieceTokenizer([*vocabulary.SPECIALS, *pieces])
    self.assertEqual(
      tokenizer.is_inner[5:].tolist(), [False, True, True, False, False, False]
    )

  def test_from_file_reads_one_piece_per_line(self):
    path = os.path.join(self.create_tempdir(), 'vocab.txt')
    content = '\n'.join(_VOCABULARY) + '\n'
    with open(path, 'w', encoding='utf-8') as file:
      file.write(content)
    tokenizer = wordpiece.WordpieceTokenizer.from_file(path)
    self.assertEqual(tokenizer.vocabulary, _VOCABULARY)
    self.assertEqual(
      tokenizer.vocabulary_sha256, hashlib.sha256(content.encode()).hexdigest()
    )

  @parameterized.named_parameters(
    ('pad_not_first', ['[UNK]', '[PAD]'], r"begin with '\[PAD\]'"),
    ('missing', ['[PAD]', '[UNK]', '[CLS]', '[SEP]'], r'Found no \[MASK\]'),
    ('twice', [*_VOCABULARY, 'x'], "line 21: 'x' again"),
    ('empty', [], 'nothing'),
  )
  def test_unusable_vocabulary_is_a_user_error(self, pieces, message):
    with self.assertRaisesRegex(errors.UserError, message):
      wordpiece.WordpieceTokenizer(pieces)

  def test_missing_file_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, '/no/vocab.txt'):
      wordpiece.WordpieceTokenizer.from_file('/no/vocab.txt')


if __name__ == '__main__':
  absltest.main()
