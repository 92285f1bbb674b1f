"""Tests for realm_tf.text.plain_letters."""

import random
import unicodedata

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import plain_letters
from tests import linear_time

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
