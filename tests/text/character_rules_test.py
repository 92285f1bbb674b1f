"""Tests for realm_tf.text.character_table and character_table."""

import functools
import unicodedata

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st

from realm_tf.text import character_table
from realm_tf.text import wordpiece

_ALL_RULES = [
  character_table.CharacterRules(*map(bool, values))
  for values in [(1, 1, 1, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 1, 0)]
]
_VOCABULARY = (
  *('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'),
  *('a', 'ab', 'A', 'é', 'e', '東', '–', '.', '½', 'ß', 'x', 'i\u0307'),
  *('##b', '##B', '##é', '##e', '##東', '##\u0301', '##ß', '##x', '##ᆨ'),
  *('b', '##a', '東京', 'a.b', '##', '\u2e5d', '##\u2e5d', 'ab ab', '\u0898'),
)
_DROPPED = ('Co', 'Cf')  # Beyond the planes that are searched.
_TEXTS = st.lists(
  st.one_of(
    st.sampled_from('abABéeßxẞ½…İıſ東京豈각.–\u2e5d\u0898\u0301\u302e'),
    st.sampled_from(' \n\t\0\x85\x1c\u00a0\u200b\u00ad\ufffd\ue000\u166d'),
    st.sampled_from(['ab' * 50, 'x' * 101, '[MASK]', '##a']),
    st.characters(exclude_categories=['Cs']),
  ),
  max_size=12,
).map(''.join)


def _slow_pieces(text, rules):
  """BERT's algorithm, one word and one piece at a time."""
  words = ''.join(map(rules.spell, text)).split(' ')
  for word in filter(None, words):
    pieces, start = [], 0
    while start < len(word) <= 100:
      prefix = '##' * (start > 0)
      ends = range(len(word), start, -1)
      end = next((e for e in ends if prefix + word[start:e] in _VOCABULARY), 0)
      if not end:
        break
      pieces.append(prefix + word[start:end])
      start = end
    yield from pieces if start == len(word) else ['[UNK]']


_tokenizer = functools.cache(
  functools.partial(wordpiece.WordpieceTokenizer, _VOCABULARY)
)


class CharacterRulesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('capital', 'A', 'a', 'A'),
    ('accent', 'É', 'e', 'É'),
    ('dotted', 'İ', 'i', 'İ'),
    ('sharp_s', 'ẞ', 'ß', 'ẞ'),
    ('sigma', 'Σ', 'σ', 'Σ'),
    ('last_sigma', 'ς', 'ς', 'ς'),
    ('ligature', 'ﬁ', 'ﬁ', 'ﬁ'),
    ('half', '½', '½', '½'),
    ('ellipsis', '…', ' … ', ' … '),
    ('dollar', '$', ' $ ', ' $ '),
    ('euro', '€', '€', '€'),
    ('quote_by_decomposition', '\u1fef', ' ` ', '\u1fef'),
    ('syllable', '각', '\u1100\u1161\u11a8', '각'),
    ('han', '東', ' 東 ', ' 東 '),
    ('compatible_han', '\uf900', ' 豈 ', ' \uf900 '),
    ('kana', 'が', 'か', 'が'),
    ('mark', '\u0301', '', '\u0301'),
    ('soft_hyphen', '\u00ad', '', ''),
    ('next_line', '\x85', '', ''),
    ('private', '\ue000', '', ''),
    ('line_separator', '\u2028', ' ', ' '),
    ('no_break_space', '\u00a0', ' ', ' '),
    # Unicode 9 and later: BERT has no category for them.
    ('newer_punctuation', '\u2e5d', '\u2e5d', '\u2e5d'),
    ('newer_mark', '\u0898', '\u0898', '\u0898'),
    ('newer_format', '\u08e2', '\u08e2', '\u08e2'),
    ('unassigned', '\u0378', '\u0378', '\u0378'),
    ('newer_decomposition', '\U00011938', '\U00011938', '\U00011938'),
    ('newer_capital', '\ua7dc', '\u019b', '\ua7dc'),
    ('was_punctuation', '\u166d', ' \u166d ', ' \u166d '),
  )
  def test_spelling(self, character, uncased, cased):
    rules = character_table.CharacterRules(lowercase=False, strip_accents=False)
    self.assertEqual(character_table.UNCASED.spell(character), uncased)
    self.assertEqual(rules.spell(character), cased)

  def test_accents_stay_without_decomposing(self):
    rules = character_table.CharacterRules(strip_accents=False)
    self.assertEqual([*map(rules.spell, 'Éİ')], ['é', 'i\u0307'])

  @parameterized.parameters(*[(rules,) for rules in _ALL_RULES])
  def test_only_listed_characters_change(self, rules):
    listed = character_table.irregular(rules)
    for code in [*range(0x3300, 0x10000, 61), *range(0x20000, 0x110000, 997)]:
      expected = chr(code)
      if rules.split_chinese and rules.spell(expected) == f' {expected} ':
        continue
      if rules.clean_text and unicodedata.category(expected) in _DROPPED:
        expected = ''
      self.assertEqual(rules.spell(chr(code)), listed.get(code, expected))


class CharacterTableTest(parameterized.TestCase):
  @hypothesis.given(_TEXTS, st.sampled_from(_ALL_RULES))
  @hypothesis.settings(max_examples=300, deadline=None)
  def test_wordpieces_match_the_slow_algorithm(self, text, rules):
    tokenizer = _tokenizer(rules)
    (ids,) = tokenizer.token_ids_batch([text])
    self.assertEqual(
      [_VOCABULARY[i] for i in ids], [*_slow_pieces(text, rules)]
    )

  def test_every_odd_character_ends_a_word_as_bert_does(self):
    rules = character_table.UNCASED
    characters = [
      c
      for c in map(chr, [*range(0xD800), *range(0xE000, 0x20000)])
      if unicodedata.category(c)[0] in 'CMPSZ' and ord(c) % 16 < 14
    ]
    texts = [f'a{c}b' for c in characters if not '\ue100' < c < '\uf800']
    tokenizer = _tokenizer(rules)
    for text, ids in zip(texts, tokenizer.token_ids_batch(texts), strict=True):
      expected = [*_slow_pieces(text, rules)]
      self.assertEqual([_VOCABULARY[i] for i in ids], expected, ascii(text))


if __name__ == '__main__':
  absltest.main()
