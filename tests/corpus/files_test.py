"""Tests for realm_tf.corpus.files and counts.

sources_test.py reads compressed files.
"""

import io
import tarfile

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from tests import input_case


class ReadLinesTest(absltest.TestCase):
  def test_typed_lines_lose_mark_and_spaces(self):
    stream = io.BytesIO(b'\xef\xbb\xbfWho?\r\n\n  Where? \xe2\x82\xac\n\xe9\n')
    lines = files.typed_lines(stream)
    self.assertEqual([next(lines), next(lines)], ['Who?', 'Where? €'])
    with self.assertRaisesRegex(errors.UserError, 'bytes in line 4'):
      next(lines)


def _tar() -> bytes:
  file = io.BytesIO()
  with tarfile.open(fileobj=file, mode='w') as archive:
    archive.addfile(tarfile.TarInfo('a'))
  return file.getvalue()


class NameTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('zip', b'PK\x03\x04', 'a zip archive'),
    ('tar', _tar(), 'a tar archive'),
    ('7z', b'7z\xbc\xaf\x27\x1c\x00\x04', '7z'),
    ('zstd', b'\x28\xb5\x2f\xfd\x04\x00', 'zstd'),
    ('sqlite', b'SQLite format 3\x00', 'an SQLite database'),
    ('pickle', b'\x80\x04\x95\x0a', 'a pickle'),
    ('utf16', 'a line\n'.encode('utf-16'), 'UTF-16'),
    ('utf16_without_mark', '{"a": 1}\n'.encode('utf-16-be'), 'UTF-16'),
    ('utf32', 'a line\n'.encode('utf-32'), 'UTF-32'),
    ('pdf', b'%PDF-1.7\n', 'a PDF'),
    ('xhtml', b'<?xml version="1.0"?>\n<!DOCTYPE html>\n', 'HTML'),
    ('other', b'\x01\x02\x03\x00\x07\x08\x09\x10', 'binary data'),
  )
  def test_names_files_that_are_no_text(self, head, kind):
    self.assertIn(kind, files.kind_of(head))
    is_read = kind in ('a PDF', 'HTML')
    for name in ('text', 'jsonl', *['auto'] * (not is_read)):
      self.assert_refused(self.file(head), kind, format=name)

  @parameterized.parameters(
    b'', b'{"a": 1}', b'\xef\xbb\xbf# Title', b'<mediawiki>', b'a < b', b'PK is'
  )
  def test_text_has_no_name(self, head):
    self.assertEqual(files.kind_of(head), '')


class CountsTest(absltest.TestCase):
  def test_an_error_is_raised_or_skipped_and_the_first_are_logged(self):
    with self.assertRaisesRegex(errors.UserError, 'Line 3'):
      counts_lib.Counts().error(errors.UserError('Line 3 must be JSON.'))
    counts = counts_lib.Counts(skip_errors=True)
    with self.assertLogs(level='WARNING') as logs:
      for i in range(100):
        counts.error(errors.UserError(f'Line {i}.'))
    self.assertLen(logs.output, 20)
    self.assertIn('Line 0.', logs.output[0])
    self.assertEqual(counts.left_out, {'unreadable': 100})


if __name__ == '__main__':
  absltest.main()
