"""Tests for realm_tf.serving.quiet_log."""

import io
import logging

from absl.testing import absltest

from realm_tf.serving import quiet_log


class OnceAMinuteTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.now, self.text = 0.0, io.StringIO()
    handler = logging.StreamHandler(self.text)
    self.short = quiet_log.OnceAMinute(lambda: self.now)
    handler.addFilter(self.short)
    self.log = logging.Logger('test')
    self.log.addHandler(handler)

  def _say(self, what):
    self.log.warning('Dropped %s.', what)

  def test_a_line_comes_once_a_minute_with_a_count(self):
    for self.now in range(0, 122, 2):
      self._say('one')
    again = 'Dropped one. (29 more dropped.)'
    lines = ['Dropped one.', again, again]
    self.assertEqual(self.text.getvalue().splitlines(), lines)
    self.assertEqual(self.short.num_dropped, 58)

  def test_a_place_in_the_code_writes_at_most_8_lines_a_minute(self):
    for number in range(100):
      self._say(number)
    lines = [f'Dropped {number}.' for number in range(8)]
    self.assertEqual(self.text.getvalue().splitlines(), lines)

  def test_other_places_and_infos_are_kept(self):
    for _ in range(2):
      self._say('one')
      self.log.warning('Dropped %s.', 'two')
      self.log.info('Three.')
    lines = ['Dropped one.', 'Dropped two.', 'Three.', 'Three.']
    self.assertEqual(self.text.getvalue().splitlines(), lines)

  def test_each_kind_of_error_has_one_traceback(self):
    for self.now in (0, 1, 61, 122):
      for kind in (ValueError, KeyError):
        try:
          raise kind('x')
        except (ValueError, KeyError):
          self.log.exception('Failed.')
    text = self.text.getvalue()
    self.assertEqual(text.count('Traceback'), 2)
    self.assertIn('Failed. ValueError: x (1 more dropped.)\n', text)
    self.assertIn("Failed. KeyError: 'x' (0 more dropped.)\n", text)


if __name__ == '__main__':
  absltest.main()
