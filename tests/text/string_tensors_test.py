"""Tests for realm_tf.text.string_tensors, compared with Python."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.text import answers
from realm_tf.text import character_table
from realm_tf.text import string_tensors
from realm_tf.text import wordpiece
from tests import fakes

_TOKENIZER = fakes.tokenizer(
  'a b c u . s nai ##ve ##s [ mask ] koln ##a \u1112'
)
_TEXTS = [
  'A b… naïve  U.S.\tÉ',
  '',
  ' 😀 naives ﬁ 日本\u3000c\x00',
  '«Köln» nai\u0308ve [MASK]',
  '\u0301a\u0301\u0301 한\u0301 c\u00ad\u0301 . . ...',
  'a' * 100 + '-' + 'a' * 101 + ' ' + 'é' * 101 + '\u0301',
  '.' * 150,
]


class StringTensorsTest(absltest.TestCase):
  def test_offsets_are_characters_of_the_text(self):
    found = string_tensors.tokenize(_TOKENIZER, tf.constant(_TEXTS))
    texts = tf.gather(tf.constant(_TEXTS), found.ids.value_rowids())
    starts, ends = (
      found.ids.with_values(string_tensors.characters(texts, offsets.values))
      for offsets in (found.starts, found.ends)
    )
    for i, tokens in enumerate(_TOKENIZER.tokenize_batch(_TEXTS)):
      np.testing.assert_array_equal(found.ids[i], tokens.ids)
      np.testing.assert_array_equal(starts[i], tokens.starts)
      np.testing.assert_array_equal(ends[i], tokens.ends)

  def test_a_cased_vocabulary_sees_case(self):
    rules = character_table.CharacterRules(False, False)
    cased = wordpiece.WordpieceTokenizer([*_TOKENIZER.vocabulary, 'A'], rules)
    found = string_tensors.tokenize(cased, tf.constant(_TEXTS))
    for i, tokens in enumerate(cased.tokenize_batch(_TEXTS)):
      np.testing.assert_array_equal(found.ids[i], tokens.ids)
    self.assertEqual(found.ids[0, 0].numpy(), cased.vocab_size - 1)

  def test_masks_in_strings_are_one_wordpiece(self):
    texts = tf.constant(['a [MASK]b [MASK][MASK]', '[MASK]', 'a', ''])
    ids = string_tensors.masked_token_ids(_TOKENIZER, texts, 5)
    mask, (a, b) = _TOKENIZER.mask_id, _TOKENIZER.tokenize('a b').ids
    self.assertEqual(
      ids.numpy().tolist(),
      [[a, mask, b, mask, mask], [mask, 0, 0, 0, 0], [a, 0, 0, 0, 0], [0] * 5],
    )

  def test_answers_are_compared_as_by_exact_match(self):
    texts = [
      *_TEXTS,
      'The U.S.',
      'an  apple, a\xa0day\u2003the',
      'Éa the-n A',
      '$5 `x` ~[y]^_{z}|\\',
      'ÀTHE ANd',
      'x\x85y\x1cz\v',
      'a\0b',
    ]
    found = string_tensors.normalize_answers(tf.constant(texts)).numpy()
    self.assertEqual(
      [text.decode() for text in found],
      [answers.normalize_answer(t).replace('\0', '\ufffd') for t in texts],
    )

  def test_invalid_bytes_become_text(self):
    found = string_tensors.valid(tf.constant([b'a\xff\xc3', 'é'.encode()]))
    self.assertEqual(found[0].numpy().decode()[0], 'a')
    self.assertEqual(found[1].numpy().decode(), 'é')


if __name__ == '__main__':
  absltest.main()
