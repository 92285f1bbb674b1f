"""Tests for realm_tf.run.json_shapes."""

from typing import NamedTuple

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.run import json_shapes

_PAIR = json_shapes.row_of(json_shapes.TEXT, json_shapes.count(1))


class JsonShapesTest(parameterized.TestCase):
  @parameterized.parameters(
    (json_shapes.COUNT, [0, 2**53], [-1, 2**53 + 1, 1.0, True, '1', None]),
    (json_shapes.NUMBER, [-1, 0.5], [float('nan'), float('inf'), True, '1']),
    (
      json_shapes.SHA256,
      ['0f' * 32],
      ['0F' * 32, '0f' * 31, '٣' * 64, '0f' * 32 + '\n', None],
    ),
    (json_shapes.one_of(1, 'a'), [1, 'a'], [True, 1.0, 'b', None, [1]]),
    (json_shapes.nullable(json_shapes.TEXT), [None, ''], [0, []]),
    (json_shapes.list_of(json_shapes.TEXT), [[], ['']], ['', [0], {}]),
    (_PAIR, [['', 1]], [['', 0], [''], ['', 1, 1], [1, ''], {}]),
    (json_shapes.map_of(json_shapes.TEXT), [{}, {'a': ''}], [[], {'a': 0}]),
    (
      json_shapes.object_of(
        {'a': json_shapes.TEXT, 'b': json_shapes.optional(json_shapes.TEXT)}
      ),
      [{'a': ''}, {'a': '', 'b': '', 'c': 0}],
      [{}, {'a': 0}, {'a': '', 'b': 0}, [], None],
    ),
  )
  def test_holds_only_for_good_values(self, shape, good, bad):
    self.assertEqual(
      [value for value in good if not json_shapes.holds(value, shape)], []
    )
    self.assertEqual(
      [value for value in bad if json_shapes.holds(value, shape)], []
    )

  def test_a_record_declares_its_fields(self):
    class Record(NamedTuple):
      name: str
      number: int

    self.assertEqual(
      json_shapes.fields_of(Record),
      {'name': json_shapes.TEXT, 'number': json_shapes.COUNT},
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
      'a': json_shapes.TEXT,
      'b': json_shapes.optional(_PAIR),
      'c': json_shapes.optional(json_shapes.one_of('x', 'y')),
    }
    with self.assertRaisesRegex(errors.UserError, message):
      json_shapes.check(value, fields, 'x:1', 'Do.')


if __name__ == '__main__':
  absltest.main()
