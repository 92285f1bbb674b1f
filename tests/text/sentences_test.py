"""Tests for realm_tf.text.sentences."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import sentences


def _split(text):
  return [text[a:b] for a, b in sentences.split_sentences(text)]


class SplitSentencesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('plain', 'One. Two! Three? Four', ['One.', 'Two!', 'Three?', 'Four']),
    ('decimal', 'It is 3.14 m. It fits.', ['It is 3.14 m.', 'It fits.']),
    (
      'title',
      'Dr. Smith met St. John. He left.',
      ['Dr. Smith met St. John.', 'He left.'],
    ),
    (
      'initials',
      'J. R. R. Tolkien wrote. He did.',
      ['J. R. R. Tolkien wrote.', 'He did.'],
    ),
    ('dotted_initials_inside', 'The U.S. Army won.', ['The U.S. Army won.']),
    (
      'dotted_initials_at_the_end',
      'He left the U.S. It was 1969.',
      ['He left the U.S.', 'It was 1969.'],
    ),
    (
      'abbreviation_inside',
      'Acme Co. Building, Jan. 5, was big.',
      ['Acme Co. Building, Jan. 5, was big.'],
    ),
    (
      'abbreviation_at_the_end',
      'He ran Acme Inc. She sold it.',
      ['He ran Acme Inc.', 'She sold it.'],
    ),
    (
      'number',
      'See No. 5, p. 7. No. He is C. 5 is.',
      ['See No. 5, p. 7.', 'No.', 'He is C. 5 is.'],
    ),
    (
      'letter_at_the_end',
      'It was World War I. It ended.',
      ['It was World War I.', 'It ended.'],
    ),
    (
      'lower_case_text',
      'the u.s. army won, e.g. in may. so j. smith left. it is. ok\nNo. so',
      [
        'the u.s. army won, e.g. in may.',
        'so j. smith left.',
        'it is.',
        'ok',
        'No. so',
      ],
    ),
    ('lower_case_goes_on', 'See e.g. this. ok?', ['See e.g. this. ok?']),
    (
      'quotes',
      'He said "No." Then (alone.) He left.',
      ['He said "No."', 'Then (alone.)', 'He left.'],
    ),
    (
      'next_is_quoted',
      'It ended. "Why?" she asked.',
      ['It ended.', '"Why?" she asked.'],
    ),
    ('no_white_space_no_split', 'a.B c.D', ['a.B c.D']),
    (
      'year_at_the_end',
      'Born in 1969. Died in 2000.',
      ['Born in 1969.', 'Died in 2000.'],
    ),
    (
      'lines',
      ' Heading \nText one.\r\n\n  Text two',
      ['Heading', 'Text one.', 'Text two'],
    ),
    ('ellipsis', 'Well... Yes.', ['Well...', 'Yes.']),
    ('empty', '', []),
    ('white_space', ' \n\t ', []),
  )
  def test_splits(self, text, expected):
    self.assertEqual(_split(text), expected)

  def test_loses_no_character(self):
    text = ' A b.  C (d.) "E?"\nF… G. h \u2028 I.J. K! '
    self.assertEqual(
      ''.join(''.join(_split(text)).split()), ''.join(text.split())
    )


if __name__ == '__main__':
  absltest.main()
