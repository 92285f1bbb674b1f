"""Tests for realm_tf.text.wordpiece and vocabulary."""

import hashlib
import unicodedata

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
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

  def test_knows_its_special_ids_and_no_text_has_none(self):
    self.assertEqual(_TOKENIZER.tokenize_batch([]), [])
    self.assertEqual(_TOKENIZER.token_ids_batch([]), [])
    ids = (_TOKENIZER.pad_id, _TOKENIZER.unk_id, _TOKENIZER.mask_id)
    self.assertEqual((*ids, *_TOKENIZER.special_ids), (0, 1, 4, 2, 3))
    self.assertEqual(_TOKENIZER.vocab_size, 20)
    content = '\n'.join(_VOCABULARY) + '\n'  # Of its file.
    self.assertEqual(
      _TOKENIZER.vocabulary_sha256, hashlib.sha256(content.encode()).hexdigest()
    )

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

  @parameterized.named_parameters(
    ('pad_not_first', ['[UNK]', '[PAD]'], r"begin with '\[PAD\]'"),
    ('missing', ['[PAD]', '[UNK]', '[CLS]', '[SEP]'], r'Found no \[MASK\]'),
    ('twice', [*_VOCABULARY, 'x'], "line 21: 'x' again"),
    ('empty', [], 'nothing'),
  )
  def test_unusable_vocabulary_is_a_user_error(self, pieces, message):
    with self.assertRaisesRegex(errors.UserError, message):
      wordpiece.WordpieceTokenizer(pieces)


def _tokens(*extents):
  starts, ends = np.array(extents, np.int32).T
  return wordpiece.Tokens(np.zeros(len(extents), np.int32), starts, ends)


# 'In July 1969 ...': in, ju ##ly, 1969; one character becomes three dots.
_TOKENS = _tokens((0, 2), (3, 5), (5, 7), (8, 12), (13, 14), (13, 14), (13, 14))


class CharToTokenSpanTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('two_words', 3, 12, (1, 4)),
    ('whole_text', 0, 14, (0, 7)),
    ('one_piece_of_a_word', 5, 7, (2, 3)),
    ('white_space_at_the_edges', 2, 8, (1, 3)),
    ('expanded_character', 13, 14, (4, 7)),
    ('start_cuts_a_token', 4, 12, None),
    ('end_cuts_a_token', 3, 11, None),
    ('inside_one_token', 9, 10, None),
    ('only_white_space', 7, 8, None),
    ('empty', 5, 5, None),
  )
  def test_span(self, start, end, expected):
    self.assertEqual(_TOKENS.span(start, end), expected)


# Letters with and without marks, combining marks alone, CJK, emoji of several
# characters, ligatures, expanding letters, right-to-left, all kinds of space.
_ODD = (
  'aZéÅßıİǅñ'
  '\u0301\u0327\u20dd'
  '東京한あｶ'
  '👩‍🚀🇨🇭👍🏽'
  'ﬁﬄ…½Ⅷ™'
  'שלוםعربى'
  ' \t\n\u00a0\u2003\u3000\u200b'
  '.,-–\'"$1٣'
)
_TEXTS = st.lists(
  st.one_of(
    st.sampled_from(_ODD),
    st.sampled_from(['Zürich', 'affine', '1969', 'e\u0301']),
    # UTF-8 cannot encode lone surrogates.
    st.characters(exclude_categories=['Cs']),
  ),
  max_size=30,
).map(''.join)
_EXAMPLES = hypothesis.settings(max_examples=40)
_ODD_TOKENIZER = wordpiece.WordpieceTokenizer(
  [
    *('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'),
    *'abefginrtuz1369.,-$東京',
    *(f'##{letter}' for letter in 'abcefghinrtuz1369'),
  ]
)


class OffsetsTest(absltest.TestCase):
  @_EXAMPLES
  @hypothesis.given(_TEXTS)
  def test_every_letter_is_in_a_token_and_no_space_is(self, text):
    tokens = _ODD_TOKENIZER.tokenize(text)
    covered = np.zeros(len(text), bool)
    for start, end in zip(tokens.starts, tokens.ends, strict=True):
      covered[start:end] = True
    for i, character in enumerate(text):
      kind = unicodedata.category(character)
      if kind in ('Lu', 'Ll', 'Nd'):
        self.assertTrue(covered[i], (i, character))
      if kind == 'Zs' or character in '\t\n':
        self.assertFalse(covered[i], (i, character))

  @_EXAMPLES
  @hypothesis.given(_TEXTS, st.data())
  def test_words_make_the_same_wordpieces_when_cut_out(self, text, data):
    tokens = _ODD_TOKENIZER.tokenize(text)
    first = np.flatnonzero(_ODD_TOKENIZER.word_starts(tokens))
    if not len(first):
      return
    a = data.draw(st.integers(0, len(first) - 1))
    b = data.draw(st.integers(a, len(first) - 1))
    begin, stop = first[a], [*first[1:], len(tokens.ids)][b]
    start, end = tokens.starts[begin], tokens.ends[stop - 1]
    found = tokens.span(start, end)
    self.assertEqual(found, (begin, stop))
    alone = _ODD_TOKENIZER.tokenize(text[start:end])
    for got, want, shift in zip(alone, tokens, (0, start, start), strict=True):
      np.testing.assert_array_equal(got + shift, want[begin:stop])

  @_EXAMPLES
  @hypothesis.given(_TEXTS, _TEXTS)
  def test_texts_of_a_batch_do_not_touch_each_other(self, first, second):
    texts = [first, second, first]
    batch = _ODD_TOKENIZER.tokenize_batch(texts)
    for text, tokens in zip(texts, batch, strict=True):
      for got, want in zip(tokens, _ODD_TOKENIZER.tokenize(text), strict=True):
        np.testing.assert_array_equal(got, want)
        self.assertEqual(got.dtype, np.int32)


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

  def test_no_words_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none'):
      vocabulary.learn_vocabulary(['', ' '], 100)


if __name__ == '__main__':
  absltest.main()
