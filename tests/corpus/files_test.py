"""Tests for realm_tf.corpus.files; sources_test reads compressed files."""

import io

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files


class ReadLinesTest(absltest.TestCase):
  def test_may_skip_lines_that_are_not_utf8(self):
    path = self.create_tempfile('a', b'one\n\xff\nthree').full_path
    counts = counts_lib.Counts(skip_errors=True)
    self.assertEqual(
      list(files.read_lines(path, counts)), [(1, 'one\n'), (3, 'three')]
    )
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 1})
    with self.assertRaisesRegex(errors.UserError, f'{path}.* line 2 '):
      list(files.read_lines(path))

  def test_typed_lines_lose_mark_and_spaces(self):
    stream = io.BytesIO(b'\xef\xbb\xbfWho?\r\n\n  Where? \xe2\x82\xac\n\xe9\n')
    lines = files.typed_lines(stream)
    self.assertEqual([next(lines), next(lines)], ['Who?', 'Where? €'])
    with self.assertRaisesRegex(errors.UserError, 'bytes in line 4'):
      next(lines)


if __name__ == '__main__':
  absltest.main()
