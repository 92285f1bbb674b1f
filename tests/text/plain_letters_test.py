"""Tests for realm_tf.text.plain_letters."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import plain_letters


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


if __name__ == '__main__':
  absltest.main()
