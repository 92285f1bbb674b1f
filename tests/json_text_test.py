"""Tests for realm_tf.json_text."""

import json
import os
import pathlib
from typing import NamedTuple, Optional
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text

_PAIR = tuple[str, json_text.POSITIVE]


class ParseTest(parameterized.TestCase):
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


class ShapesTest(parameterized.TestCase):
  @parameterized.parameters(
    (json_text.COUNT, [0, 2**53], [-1, 2**53 + 1, 1.0, True, '1', None]),
    (json_text.NUMBER, [-1, 0.5], [float('nan'), float('inf'), True, '1']),
    (
      json_text.SHA256,
      ['0f' * 32],
      ['0F' * 32, '0f' * 31, '٣' * 64, '0f' * 32 + '\n', None],
    ),
    (json_text.one_of(1, 'a'), [1, 'a'], [True, 1.0, 'b', None, [1]]),
    (Optional[str], [None, ''], [0, []]),
    (list[str], [[], ['']], ['', [0], {}]),
    (_PAIR, [['', 1]], [['', 0], [''], ['', 1, 1], [1, ''], {}]),
    (dict[str, str], [{}, {'a': ''}], [[], {'a': 0}]),
    (
      json_text.object_of({'a': str, 'b': json_text.optional(str)}),
      [{'a': ''}, {'a': '', 'b': '', 'c': 0}],
      [{}, {'a': 0}, {'a': '', 'b': 0}, [], None],
    ),
  )
  def test_holds_only_for_good_values(self, shape, good, bad):
    self.assertEqual(
      [value for value in good if not json_text.holds(value, shape)], []
    )
    self.assertEqual(
      [value for value in bad if json_text.holds(value, shape)], []
    )

  def test_a_record_declares_its_fields(self):
    class Record(NamedTuple):
      name: str
      number: int

    self.assertEqual(
      json_text.fields_of(Record), {'name': str, 'number': json_text.COUNT}
    )

  @parameterized.parameters(
    ({}, 'x:1 must have .* Found: .* missing required field `a`. Do.'),
    (
      {'a': 10**90},
      'Found: Expected `str`, got `int` - at `[$].a`, which is 10*[.]{4} Do.',
    ),
    ({'a': 'x', 'b': ['y' * 999, 0]}, r'`int` >= 1 - at `[$].b\[1\]`. Do.'),
    ({'a': '', 'c': 'z'}, r'`[$].c`, which is .z. and must be one of x, y. Do'),
    ([], 'x:1 .* Found: Expected `object`, got `array`. Do.'),
  )
  def test_names_the_field_and_the_value(self, value, message):
    fields = {
      'a': str,
      'b': json_text.optional(_PAIR),
      'c': json_text.optional(json_text.one_of('x', 'y')),
    }
    with self.assertRaisesRegex(errors.UserError, message):
      json_text.check(value, fields, 'x:1', 'Do.')


class FilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.path = os.path.join(self.folder, 'a.json')

  def test_round_trip_and_replacement(self):
    for value in ({'b': [1, 2.5]}, 7):
      json_text.write(self.path, value)
      self.assertEqual(json_text.read(self.path), value)
    self.assertEqual(os.listdir(self.folder), ['a.json'])

  def test_readers_never_see_half_a_file(self):
    json_text.write(self.path, 'old')
    seen = []

    def rename(*args, **kwargs):
      seen.append(json_text.read(self.path))
      real_rename(*args, **kwargs)

    real_rename = tf.io.gfile.rename
    with mock.patch.object(tf.io.gfile, 'rename', side_effect=rename):
      json_text.write(self.path, 'new')
    self.assertEqual(seen, ['old'])
    self.assertEqual(json_text.read(self.path), 'new')

  def test_lines_are_replaced_as_a_whole(self):
    for values in ([{'a': 'two\nlines'}, {'b': 2}], [{'c': 3}]):
      json_text.write_lines(self.path, values)
      lines = pathlib.Path(self.path).read_text().splitlines()
      self.assertEqual([json.loads(line) for line in lines], values)
    self.assertEqual(os.listdir(self.folder), ['a.json'])

  @parameterized.parameters(b'', b'{"a": 1', b'\xff\xfe"', b'[]')
  def test_a_file_that_is_missing_or_not_json_is_none(self, data):
    self.assertIsNone(json_text.read(self.path))
    pathlib.Path(self.path).write_bytes(data)
    self.assertIsNone(json_text.read(self.path, dict))


if __name__ == '__main__':
  absltest.main()
