"""Tests for realm_tf.run.json_shapes."""

from typing import NamedTuple

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf import json_text

_PAIR = json_text.row_of(json_text.TEXT, json_text.count(1))


class JsonShapesTest(parameterized.TestCase):
  @parameterized.parameters(
    (json_text.COUNT, [0, 2**53], [-1, 2**53 + 1, 1.0, True, '1', None]),
    (json_text.NUMBER, [-1, 0.5], [float('nan'), float('inf'), True, '1']),
    (
      json_text.SHA256,
      ['0f' * 32],
      ['0F' * 32, '0f' * 31, '٣' * 64, '0f' * 32 + '\n', None],
    ),
    (json_text.one_of(1, 'a'), [1, 'a'], [True, 1.0, 'b', None, [1]]),
    (json_text.nullable(json_text.TEXT), [None, ''], [0, []]),
    (json_text.list_of(json_text.TEXT), [[], ['']], ['', [0], {}]),
    (_PAIR, [['', 1]], [['', 0], [''], ['', 1, 1], [1, ''], {}]),
    (json_text.map_of(json_text.TEXT), [{}, {'a': ''}], [[], {'a': 0}]),
    (
      json_text.object_of(
        {'a': json_text.TEXT, 'b': json_text.optional(json_text.TEXT)}
      ),
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
      json_text.fields_of(Record),
      {'name': json_text.TEXT, 'number': json_text.COUNT},
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
      'a': json_text.TEXT,
      'b': json_text.optional(_PAIR),
      'c': json_text.optional(json_text.one_of('x', 'y')),
    }
    with self.assertRaisesRegex(errors.UserError, message):
      json_text.check(value, fields, 'x:1', 'Do.')


if __name__ == '__main__':
  absltest.main()
