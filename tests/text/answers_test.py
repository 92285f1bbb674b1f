"""Tests for realm_tf.text.answers."""

import time

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.text import answers


class NormalizeAnswerTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('articles_and_case', 'The Holy  Roman\tEmpire', 'holy roman empire'),
    ('punctuation_is_deleted', 'U.S. (1776)', 'us 1776'),
    ('articles_inside_words_stay', 'Theodore an Athens', 'theodore athens'),
    # NFD turns é into e and U+0301, the second spelling.
    ('accents_are_split_off', 'Caf\u00e9', 'cafe\u0301'),
    ('only_ascii_punctuation', '1914\u20131918', '1914\u20131918'),
    ('nothing_left', 'The "A".', ''),
  )
  def test_normalizes(self, text, expected):
    self.assertEqual(answers.normalize_answer(text), expected)


class ExactMatchTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('any_reference', 'the U.S.', ['America', 'US'], False, True),
    ('no_part_of_it', 'New York City', ['New York'], False, False),
    ('composed_equals_decomposed', 'cafe\u0301', ['Caf\u00e9'], False, True),
    ('no_reference', 'x', [], False, False),
    ('regex_in_any_case', 'NEW   york', [r'new\s+york'], True, True),
    ('regex_matches_from_the_start', 'in May', ['may'], True, False),
    ('regex_may_end_early', 'May 1945', ['may'], True, True),
  )
  def test_compares(self, prediction, references, regex, expected):
    self.assertEqual(
      answers.exact_match(prediction, references, regex), expected
    )


class F1Test(parameterized.TestCase):
  @parameterized.named_parameters(
    # 1 common word of 2 and of 1: P = 1/2, R = 1, F1 = 2/3.
    ('half_right', 'Barack Obama', ['Obama'], 2 / 3),
    # A word counts as often as both texts have it: 1 common word of 2 and of 3.
    ('repeated_words', 'paris paris', ['paris in france'], 2 / 5),
    ('best_reference', 'a b c', ['x', 'c b'], 1.0),  # "a" is an article.
    ('nothing_common', 'x', ['y'], 0.0),
    ('no_reference', 'x', [], 0.0),
  )
  def test_matches_hand_computation(self, prediction, references, expected):
    self.assertAlmostEqual(answers.f1(prediction, references), expected)


class ContainsAnswerTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('punctuation_ends_words', 'a New York-based', ['New York'], False, True),
    ('abbreviation', 'In the U.S., it rained.', ['u.s.'], False, True),
    ('accents_do_not_end_words', 'caf\u00e9', ['cafe'], False, False),
    ('any_unicode_form', 'caf\u00e9', ['Cafe\u0301'], False, True),
    ('en_dash', '1914\u20131918', ['1918'], False, True),
    ('not_within_a_word', 'The bus came.', ['us'], False, False),
    ('not_across_a_word_end', 'New Yorkers.', ['New York'], False, False),
    ('no_article_before_it', 'in Louvre', ['the Louvre'], False, True),
    ('articles_are_words', 'king of the hill', ['King of Hill'], False, False),
    ('letters_are_no_articles', 'vitamin C', ['Vitamin A'], False, False),
    ('empty_after_normalization', 'The end.', ['!'], False, False),
    ('within_han_letters', '他住在北京市', ['北京'], False, True),
    ('other_han_letters', '他住在北京市', ['南京'], False, False),
    ('thai_marks', 'ในกรุงเทพมหานคร', ['กรุงเทพ'], False, True),
    ('before_a_korean_particle', '서울은 크다', ['서울'], False, True),
    ('hindi_vowel_signs', 'दिल्ली में', ['दिल'], False, False),
    ('arabic_vowels', 'كِتَاب جديد', ['كتاب'], False, True),
    ('underscore_ends_words', 'a b_c', ['b c'], False, True),
    ('grows_in_lower_case', 'near \u0130zmir', ['\u0130zmir'], False, True),
    ('regex_anywhere', 'Born in\nMAY 1945', ['^may'], True, True),
    ('regex_sees_punctuation', 'It is 3.5 m', [r'3\.5'], True, True),
  )
  def test_looks_for_whole_words(self, text, references, regex, expected):
    self.assertEqual(answers.contains_answer(text, references, regex), expected)

  def test_finds_all_matches_of_the_raw_text(self):
    found = answers.find_matches('1.5 or 2.5', [r'\d\.5', r'2\.', '5$'])
    self.assertEqual(found, [(0, 3), (7, 9), (7, 10), (9, 10)])


class AnswerMatcherTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.read = []
    texts = ['Paris, France', 'Rome', 'Lyon is in France.']

    def read_texts(ids):
      self.read.extend(ids)
      return [texts[i] for i in ids]

    self.matcher = answers.AnswerMatcher(read_texts)

  def test_agrees_with_contains_answer_block_by_block(self):
    found = self.matcher.matches(
      np.array([[0, 1, -1], [2, 2, 0]]),
      [['France'], ['rome', 'lyon']],
      [False, False],
    )
    np.testing.assert_array_equal(
      found, [[True, False, False], [True, True, False]]
    )
    self.assertEqual(self.read, [0, 1, 2])

  def test_regex_sees_the_raw_text(self):
    ids = np.array([[0], [0]])
    found = self.matcher.matches(ids, [['Paris,'], [r's, f']], [False, True])
    np.testing.assert_array_equal(found, [[True], [True]])


# Each 'a' may match alone or with the next: 2^n ways, and none of them ends at
# the end of the line.
_HOSTILE = '(a|aa)+$'
_TEXT = 'a' * 5000 + 'b'


class TimedPatternTest(parameterized.TestCase):
  @parameterized.parameters(
    ('May', 'in may', False, True, [(3, 6)]),
    ('^b', 'a\nB', False, True, [(2, 3)]),
    (r'\d+', '1 22', True, True, [(0, 1), (2, 4)]),
    ('x*', 'y', True, True, [(0, 0), (1, 1)]),
    ('x', 'y', False, False, []),
  )
  def test_matches_in_any_case_and_line(self, source, text, at, within, spans):
    pattern = answers.TimedPattern(source)
    self.assertEqual(pattern.matches_start(text), at)
    self.assertEqual(pattern.occurs(text), within)
    self.assertEqual(pattern.spans(text), spans)

  @parameterized.parameters(
    ('((a{1000}){1000}){1000}', 'repetitions multiply'),
    ('(((((a{50}){50}){50}){50}){50})', 'repetitions multiply'),
    ('(?:(?:a{3000}){3000}){e<=3}', 'repetitions multiply'),
    ('(?:(?:a{3000}){e<=3}){3000,}', 'repetitions multiply'),
    ('(?#[)((a{1000})(?i){1000}){1000}', 'repetitions multiply'),
    ('a{99999999999}', 'repetitions multiply'),
    ('(?x)((a{1000}) #\n{1000}) #\n{1000}', 'flag x'),
    ('a' * 20_000, 'more than 10,000 characters'),
    ('(' * 4000 + 'a' + ')' * 4000, 'nested too deeply'),
    ('(?:a|' * 300 + 'b' + ')' * 300, 'nested too deeply'),
    ('(?a)(?u)a', 'incompatible'),
    ('(?V1)a', 'incompatible'),
    (r'\L<names>', 'undefined named list'),
    ('{1000}{1000}{1000}', 'repetitions multiply'),
    ('(May', 'missing )'),
  )
  def test_a_broken_large_or_contradictory_pattern_is_named(self, source, why):
    self.assertIn(why, answers.pattern_problem(source))

  @parameterized.parameters(
    '((Watson|Crick).*){2}|Crick|Watson',
    r'(\d{1,3}\.){3}\d{1,3}|\{\}|a{,5000}',
    r'((green|white|red)\s*,?\s*(and)?\s*){3}|(?i)x{200}|\(?xenon',
    '|'.join(['(?:[a-z]{2,20} ){2}'] * 8),
  )
  def test_an_ordinary_pattern_is_accepted(self, source):
    self.assertEqual(answers.pattern_problem(source), '')

  @parameterized.parameters(_HOSTILE, '(a+)+$', '(.*a){20}$')
  def test_a_hostile_pattern_ends_and_counts_as_no_match(self, source):
    pattern = answers.TimedPattern(source, limit_secs=0.01)
    start = time.process_time()
    with self.assertLogs(level='WARNING') as logs:
      self.assertFalse(pattern.matches_start(_TEXT))
      self.assertFalse(pattern.occurs(_TEXT))
      self.assertEqual(pattern.spans(_TEXT), [])
    self.assertLess(time.process_time() - start, 1)
    self.assertLen(logs.output, 1)  # One warning for three timeouts.
    self.assertIn(source, logs.output[0])

  def test_a_hostile_pattern_still_finds_easy_matches(self):
    pattern = answers.TimedPattern(_HOSTILE, limit_secs=0.01)
    pattern.occurs(_TEXT)
    self.assertTrue(pattern.occurs('b aa'))
    self.assertEqual(pattern.spans('aa\n' + _TEXT), [(0, 2)])

  def test_stops_after_too_many_timeouts(self):
    pattern = answers.TimedPattern(_HOSTILE, limit_secs=1e-4)
    for _ in range(60):
      pattern.occurs(_TEXT)
    self.assertFalse(pattern.occurs('aa'))

  def test_answers_have_the_limit(self):
    start = time.process_time()
    self.assertFalse(answers.exact_match(_TEXT, [_HOSTILE], regex=True))
    self.assertFalse(answers.contains_answer(_TEXT, [_HOSTILE], regex=True))
    self.assertEqual(answers.find_matches(_TEXT, [_HOSTILE]), [])
    self.assertLess(time.process_time() - start, 5)


if __name__ == '__main__':
  absltest.main()
