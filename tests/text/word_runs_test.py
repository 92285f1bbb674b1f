"""Tests for realm_tf.text.word_runs."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import word_runs


class SpacedWordsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('punctuation', 'The "Spider-Man" (1962)!', ' spider man 1962 '),
    ('dots', 'In the U.S. it rained', ' in u s it rained '),
    ('articles', 'An owl, a cat and the Dog', ' owl cat and dog '),
    ('underscore', 'a_b', ' b '),
    ('accent_apart', 'nai\u0308ve', ' naïve '),
    ('grows_in_lower_case', '\u0130zmir', ' i zmir '),
    ('none', 'the .', '  '),
  )
  def test_writes(self, text, expected):
    self.assertEqual(word_runs.spaced_words(text), expected)


if __name__ == '__main__':
  absltest.main()
