"""Tests for realm_tf.text.plain_letters."""

import random
import unicodedata

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import plain_letters
from tests import linear_time


class WriteTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('ascii', 'Paris', 'Paris'),
    ('composed', 'Zürich', 'Zürich'),
    ('decomposed', 'Zu\u0308rich', 'Zürich'),
    ('uncomposable', 'x\u030cy', 'xy'),
    ('vowel_signs', 'क\u093fक', 'कक'),
    ('no_break_spaces', '5\xa0May\u202f1990', '5 May 1990'),
    ('no_break_hyphen', 'Rolls\u2011Royce', 'Rolls-Royce'),
    ('soft_hyphen_and_joiners', 'Pa\xadri\u200ds\u2060', 'Paris'),
    ('lone_mark', '\u0301a', 'a'),
    ('only_marks', '\u0301\u0301', ''),
  )
  def test_writes(self, text, expected):
    self.assertEqual(plain_letters.write(text).text, expected)

  def test_spans_of_the_original_include_the_marks_after_a_letter(self):
    text = '\u200bZu\u0308rich, Jose\u0301 and Par\xadis'
    plain = plain_letters.write(text)
    words = ('Zürich', 'José', 'and', 'Paris')
    spans = [
      (start := plain.text.index(word), start + len(word)) for word in words
    ]
    self.assertEqual(
      [text[start:end] for start, end in plain.original(spans)],
      ['Zu\u0308rich', 'Jose\u0301', 'and', 'Par\xadis'],
    )


# Marks of classes 230, 202, 240, 9, 1; two of class 0 that decompose into two;
# a mark that joins the mark before it; letters and punctuation.
_CHARACTERS = (
  '\u0301\u0327\u0345\u094d\u0338\u0f73\u0f81\u09be\u0344ae-=≠é가\u11a8'
)


class NormalizeTest(parameterized.TestCase):
  @parameterized.product(form=['NFC', 'NFD', 'NFKD'], seed=list(range(20)))
  def test_equals_the_standard_library(self, form, seed):
    text = ''.join(random.Random(seed).choices(_CHARACTERS, k=400))
    marks = ''.join(random.Random(seed).choices(_CHARACTERS[:9], k=100))
    for each in (text, f'a{marks}b', marks):
      self.assertEqual(
        plain_letters.normalize(form, each), unicodedata.normalize(form, each)
      )

  @parameterized.parameters('\u0327\u0301', '\u0f73', '\u0344\u0327')
  def test_marks_in_the_wrong_order_take_linear_time(self, marks):
    for form in ('NFC', 'NFD', 'NFKD'):
      linear_time.check(
        lambda text, form=form: plain_letters.normalize(form, text),
        lambda n: 'a' + marks * n,
        500,
      )

  @parameterized.parameters(
    ('SÃO Tomé', 'sao tome'), ('ﬁn', 'fin'), ('AB', 'ab')
  )
  def test_plain_texts_have_no_accents(self, text, expected):
    self.assertEqual(plain_letters.plain(text), expected)


if __name__ == '__main__':
  absltest.main()
