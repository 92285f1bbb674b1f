"""Tests for realm_tf.corpus.files; sources_test has the kinds of files."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files


class ReadTextsTest(absltest.TestCase):
  def test_reads_the_text_of_every_line(self):
    path = self.create_tempfile('a', '{"text": "A."}\n\n{"text": "B."}')
    self.assertEqual(list(files.read_texts([path.full_path])), ['A.', 'B.'])

  def test_a_line_without_text_is_a_user_error(self):
    path = self.create_tempfile('a', '{"text": "a"}\n{"x": 1}\n')
    with self.assertRaisesRegex(errors.UserError, ':2 must have "text"'):
      list(files.read_texts([path.full_path]))


class ReadLinesTest(absltest.TestCase):
  def test_skips_lines_that_are_no_utf8_if_told(self):
    path = self.create_tempfile('a', b'one\n\xff\nthree').full_path
    counts = counts_lib.Counts(skip_errors=True)
    self.assertEqual(
      list(files.read_lines(path, counts)), [(1, 'one\n'), (3, 'three')]
    )
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 1})
    with self.assertRaisesRegex(errors.UserError, f'{path}.* line 2 '):
      list(files.read_lines(path))


if __name__ == '__main__':
  absltest.main()
