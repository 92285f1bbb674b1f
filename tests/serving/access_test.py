"""Tests for realm_tf.serving.access."""

import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.serving import access
from realm_tf.serving import request_body


class AccessTest(parameterized.TestCase):
  def test_reads_a_token(self):
    path = self.create_tempfile(content='0123456789abcdef\n').full_path
    self.assertEqual(access.read_token(path), '0123456789abcdef')

  @parameterized.parameters(
    b'', b'short', b'0123456789 abcdef', b'\xff' * 20, b'x' * 5000
  )
  def test_what_is_no_token(self, content):
    path = self.create_tempfile(content=content, mode='wb').full_path
    with self.assertRaisesRegex(errors.UserError, '--token_file must'):
      access.read_token(path)

  def test_no_file(self):
    with self.assertRaisesRegex(errors.UserError, 'that can be read'):
      access.read_token('/no/such/file')

  def test_what_is_no_file(self):
    folder = self.create_tempdir().full_path
    pipe = os.path.join(folder, 'pipe')
    os.mkfifo(pipe)
    for path in (folder, pipe, '/dev/zero'):
      with self.assertRaisesRegex(errors.UserError, 'that can be read'):
        access.read_token(path)

  @parameterized.parameters(
    ('localhost:8501', True),
    ('127.0.0.1', True),
    ('[::1]:8501', True),
    ('evil.example:8501', False),
    ('localhost.evil.example', False),
    ('', False),
    (None, False),
  )
  def test_a_foreign_name_may_not_change_texts(self, host, may):
    check = lambda token: access.check_writer(
      'application/json; charset=utf-8', host, token
    )
    check('a token')
    if may:
      check(None)
    else:
      with self.assertRaises(request_body.RequestError):
        check(None)

  @parameterized.parameters('text/plain', '', None)
  def test_what_a_foreign_page_may_send_changes_nothing(self, content_type):
    with self.assertRaises(request_body.RequestError):
      access.check_writer(content_type, 'localhost', 'a token')


if __name__ == '__main__':
  absltest.main()
