"""Tests for realm_tf.text.text_lines."""

import io

from absl.testing import absltest

from realm_tf import errors
from realm_tf.text import text_lines


class ReadTest(absltest.TestCase):
  def test_yields_lines_without_mark_and_spaces(self):
    stream = io.BytesIO(b'\xef\xbb\xbfWho?\r\n\n  Where? \xe2\x82\xac\n')
    self.assertEqual(list(text_lines.read(stream)), ['Who?', 'Where? €'])

  def test_a_line_that_is_not_utf8_is_a_user_error_when_it_is_reached(self):
    lines = text_lines.read(io.BytesIO(b'Who?\n\xe9t\xe9\n'))
    self.assertEqual(next(lines), 'Who?')
    with self.assertRaisesRegex(errors.UserError, 'line 2 is not'):
      next(lines)


if __name__ == '__main__':
  absltest.main()
