"""Tests for realm_tf.text.word_runs, by way of `answers.find_answers`."""

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st

from realm_tf.text import answers

# Letters, an article, accents apart and joined, Hangul's parts, a capital that
# is two characters in lower case, a sigma that depends on its place, a sign
# that is another one composed, and what stands between words.
_PIECES = st.sampled_from(
  ['a', 'B', 'the', 'c', '1', ' ', '-', '.', '_', '\n', 'e\u0301', '\u00e9']
  + ['\u0301', '\u0323', '\u1112', '\u1161', '\u11ab', '\u0130', '\u03a3']
  + ['\u212b', '\u0958', '\u0f73', '\U0001d15e', '\u09c7', '\u09be']
)
_TEXTS = st.lists(_PIECES, max_size=12).map(''.join)


class FindAnswersTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('own_dots', 'In the U.S. it rained', ['u.s.'], ['U.S.']),
    ('dots_of_the_answer_only', 'In the US.', ['U.S.'], []),
    ('plus_signs', 'He wrote C++, not C.', ['C++'], ['C++', 'C']),
    ('comma', 'It has 1,000 rooms', ['1,000'], ['1,000']),
    ('hyphen', 'the Spider-Man film', ['spider man'], ['Spider-Man']),
    ('accent', 'a naïve one', ['Naïve'], ['naïve']),
    ('accent_apart', 'a nai\u0308ve one', ['naïve'], ['nai\u0308ve']),
    ('article_between', 'King of the Hill', ['king of hill'], None),
    ('article_before', 'The Beatles sang', ['the Beatles'], ['The Beatles']),
    ('article_of_the_text', 'The Beatles sang', ['Beatles'], ['Beatles']),
    ('article_missing', 'Some Beatles', ['the Beatles'], ['Beatles']),
    ('no_article', 'Banana Beatles', ['a Beatles'], ['Beatles']),
    ('letter_a_first', 'In A.D. 9', ['a.d. 9'], ['A.D. 9']),
    ('letter_a_last', 'of vitamin A.', ['Vitamin A'], ['vitamin A']),
    ('no_letter_a', 'vitamin as', ['Vitamin A'], ['vitamin']),
    ('each_one', 'Rome is Rome', ['Rome'], ['Rome', 'Rome']),
    ('overlapping', 'a b c b c b', ['b c b'], ['b c b', 'b c b']),
    ('several', 'Rome, Italy', ['Italy', 'rome'], ['Rome', 'Italy']),
    ('not_in_words', 'Romeo', ['Rome'], []),
    ('no_words', 'The end.', ['the', '.'], []),
    ('grows_in_lower_case', 'In \u0130zmir.', ['zmir'], ['zmir']),
    ('money', 'It cost $5.', ['$5'], ['$5']),
  )
  def test_finds(self, text, references, expected):
    found = answers.find_answers(text, references)
    self.assertEqual(
      [text[a:b] for a, b in found], expected or [text] * (expected is None)
    )

  def test_of_regular_expressions_all_matches_of_the_raw_text(self):
    found = answers.find_answers('1.5 or 2.5', [r'\d\.5', r'2\.'], regex=True)
    self.assertEqual(found, [(0, 3), (7, 9), (7, 10)])

  @hypothesis.given(_TEXTS, st.lists(_TEXTS, max_size=2))
  @hypothesis.settings(max_examples=500, deadline=None)
  def test_finds_where_contains_answer_says_so(self, text, references):
    found = answers.find_answers(text, references)
    self.assertEqual(bool(found), answers.contains_answer(text, references))

  @hypothesis.given(_TEXTS, _TEXTS)
  @hypothesis.settings(max_examples=500, deadline=None)
  def test_what_is_found_has_the_answer(self, text, answer):
    for start, end in answers.find_answers(text, [answer]):
      self.assertLess(start, end)
      self.assertTrue(answers.contains_answer(text[start:end], [answer]))

  @hypothesis.given(_TEXTS, st.sampled_from(['b', '^c', '[a-c]+', 'x*', '1$']))
  @hypothesis.settings(max_examples=200, deadline=None)
  def test_so_it_is_with_regular_expressions(self, text, pattern):
    found = answers.find_answers(text, [pattern], regex=True)
    self.assertEqual(
      bool(found), answers.contains_answer(text, [pattern], regex=True)
    )


if __name__ == '__main__':
  absltest.main()
