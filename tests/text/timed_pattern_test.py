"""Tests for realm_tf.text.timed_pattern."""

import time

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import answers
from realm_tf.text import timed_pattern

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
    pattern = timed_pattern.TimedPattern(source)
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
    self.assertIn(why, timed_pattern.problem(source))

  @parameterized.parameters(
    '((Watson|Crick).*){2}|Crick|Watson',
    r'(\d{1,3}\.){3}\d{1,3}|\{\}|a{,5000}',
    r'((green|white|red)\s*,?\s*(and)?\s*){3}|(?i)x{200}|\(?xenon',
    '|'.join(['(?:[a-z]{2,20} ){2}'] * 8),
  )
  def test_an_ordinary_pattern_is_accepted(self, source):
    self.assertEqual(timed_pattern.problem(source), '')

  @parameterized.parameters(_HOSTILE, '(a+)+$', '(.*a){20}$')
  def test_a_hostile_pattern_ends_and_counts_as_no_match(self, source):
    pattern = timed_pattern.TimedPattern(source, limit_secs=0.01)
    start = time.process_time()
    with self.assertLogs(level='WARNING') as logs:
      self.assertFalse(pattern.matches_start(_TEXT))
      self.assertFalse(pattern.occurs(_TEXT))
      self.assertEqual(pattern.spans(_TEXT), [])
    self.assertLess(time.process_time() - start, 1)
    self.assertLen(logs.output, 1)  # One warning for three timeouts.
    self.assertIn(source, logs.output[0])

  def test_a_hostile_pattern_still_finds_easy_matches(self):
    pattern = timed_pattern.TimedPattern(_HOSTILE, limit_secs=0.01)
    pattern.occurs(_TEXT)
    self.assertTrue(pattern.occurs('b aa'))
    self.assertEqual(pattern.spans('aa\n' + _TEXT), [(0, 2)])

  def test_stops_after_too_many_timeouts(self):
    pattern = timed_pattern.TimedPattern(_HOSTILE, limit_secs=1e-4)
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
