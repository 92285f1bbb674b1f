"""Tests for realm_tf.json_text."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf import json_text


class JsonTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ('{"a": [1, null]}', {'a': [1, None]}),
    (b'"\xc3\xa9"', 'é'),
    ('\ufeff[]', []),
    (b'\xef\xbb\xbf[]', []),
    (r'"\ud83d\ude00"', '\U0001f600'),
  )
  def test_parses_json_with_and_without_byte_order_mark(self, text, value):
    self.assertEqual(json_text.parse(text, 'a.json'), value)

  @parameterized.parameters(
    ('{"a"', 'column 5'),
    ('', 'column 1'),
    ('[' * 100_000, 'nested too deeply'),
    ('9' * 5_000, 'digits'),
    (r'{"a\udc00": 1}', r'surrogate pair, \\udc00'),
    (b'"\xff"', 'not UTF-8'),
    ('[1]'.encode('utf-16'), 'UTF-16'),
  )
  def test_other_text_is_an_error_of_one_line(self, text, problem):
    with self.assertRaisesRegex(errors.UserError, f'^a.json.*{problem}'):
      json_text.parse(text, 'a.json')

  def test_a_list_is_no_object(self):
    self.assertEqual(json_text.parse_object('{}', 'a.json'), {})
    with self.assertRaisesRegex(errors.UserError, 'Found a list. Fix it.'):
      json_text.parse_object('[]', 'a.json', 'Fix it.')


if __name__ == '__main__':
  absltest.main()
