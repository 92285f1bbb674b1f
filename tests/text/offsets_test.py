"""Tests that offsets in bytes, characters and wordpieces agree for any text."""

import unicodedata

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np

from realm_tf.text import wordpiece

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
_TOKENIZER = wordpiece.WordpieceTokenizer(
  [
    *('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'),
    *'abefginrtuz1369.,-$東京',
    *(f'##{letter}' for letter in 'abcefghinrtuz1369'),
  ]
)


class OffsetsTest(absltest.TestCase):
  @_EXAMPLES
  @hypothesis.given(_TEXTS)
  def test_tokens_lie_in_the_text_in_order(self, text):
    tokens = _TOKENIZER.tokenize(text)
    self.assertTrue((tokens.starts >= 0).all())
    self.assertTrue((tokens.ends <= len(text)).all())
    self.assertTrue((tokens.starts < tokens.ends).all())
    self.assertTrue((np.diff(tokens.starts) >= 0).all())
    self.assertTrue((np.diff(tokens.ends) >= 0).all())
    (ids,) = _TOKENIZER.token_ids_batch([text])
    np.testing.assert_array_equal(tokens.ids, ids)

  @_EXAMPLES
  @hypothesis.given(_TEXTS)
  def test_every_letter_is_in_a_token_and_no_space_is(self, text):
    tokens = _TOKENIZER.tokenize(text)
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
    tokens = _TOKENIZER.tokenize(text)
    first = np.flatnonzero(_TOKENIZER.word_starts(tokens))
    if not len(first):
      return
    a = data.draw(st.integers(0, len(first) - 1))
    b = data.draw(st.integers(a, len(first) - 1))
    begin, stop = first[a], [*first[1:], len(tokens.ids)][b]
    start, end = tokens.characters(begin, stop)
    found = tokens.span(start, end)
    self.assertEqual(found, (begin, stop))
    alone = _TOKENIZER.tokenize(text[start:end])
    for got, want, shift in zip(alone, tokens, (0, start, start), strict=True):
      np.testing.assert_array_equal(got + shift, want[begin:stop])

  @_EXAMPLES
  @hypothesis.given(_TEXTS, _TEXTS)
  def test_texts_of_a_batch_do_not_touch_each_other(self, first, second):
    batch = _TOKENIZER.tokenize_batch([first, second, first])
    for text, tokens in zip([first, second, first], batch, strict=True):
      for got, want in zip(tokens, _TOKENIZER.tokenize(text), strict=True):
        np.testing.assert_array_equal(got, want)


if __name__ == '__main__':
  absltest.main()
