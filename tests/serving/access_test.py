"""Tests for realm_tf.serving.access."""

import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.serving import access


class AccessTest(parameterized.TestCase):
  def test_reads_a_token(self):
    path = self.create_tempfile(content='0123456789abcdef\n').full_path
    self.assertEqual(access.read_token(path), '0123456789abcdef')

  @parameterized.parameters(
    b'', b'short', b'0123456789 abcdef', b'\xff' * 20, b'x' * 5000
  )
  def test_wrong_tokens_are_refused(self, content):
    path = self.create_tempfile(content=content, mode='wb').full_path
    with self.assertRaisesRegex(errors.UserError, '--token_file must'):
      access.read_token(path)

  def test_unreadable_files_are_refused(self):
    folder = self.create_tempdir().full_path
    pipe = os.path.join(folder, 'pipe')
    os.mkfifo(pipe)
    for path in (folder, pipe, '/dev/zero', '/no/such/file'):
      with self.assertRaisesRegex(errors.UserError, 'must be a re'):
        access.read_token(path)

  @parameterized.parameters(
    ('application/json; charset=utf-8', 'localhost:8501', None),
    ('application/json', '127.0.0.1', None),
    ('application/json', '[::1]:8501', None),
    ('application/json', 'evil.example:8501', 403),
    ('application/json', 'localhost.evil.example', 403),
    ('application/json', '', 403),
    ('text/plain', 'localhost', 415),
    ('', 'localhost', 415),
  )
  def test_pages_of_other_sites_may_not_change_texts(self, kind, host, status):
    headers = {'content-type': kind, 'host': host}
    if status == 403:
      access.check_writer(headers, 'a token')  # Other sites have no token.
    if status is None:
      access.check_writer(headers, None)
    else:
      with self.assertRaises(errors.RequestError) as caught:
        access.check_writer(headers, None)
      self.assertEqual(caught.exception.status, status)


if __name__ == '__main__':
  absltest.main()
