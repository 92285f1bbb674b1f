"""Tests for the spans of realm_tf.text.wordpiece.Tokens."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.text import wordpiece


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

  def test_no_tokens(self):
    none = wordpiece.Tokens(*[np.zeros(0, np.int32)] * 3)
    self.assertIsNone(none.span(0, 3))

  def test_characters_is_the_inverse(self):
    self.assertEqual(_TOKENS.characters(1, 4), (3, 12))
    for first in range(4):
      for end in range(first + 1, 4):
        characters = _TOKENS.characters(first, end)
        self.assertEqual(_TOKENS.span(*characters), (first, end))


if __name__ == '__main__':
  absltest.main()
