"""Tests for realm_tf.config.fields."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class _Config(fields.Config):
  num_read: int = fields.positive(5)
  num_searched: int = fields.not_negative(8)
  dropout_rate: float = fields.rate(0.5)
  held_out: float = fields.below_one(0.0)
  max_tokens: int = fields.above(2, 64)
  searcher: str = fields.one_of('exact', 'scann')

  def check_together(self):
    fields.check(self.num_read <= 10, 'Too many.', num_read=self.num_read)


class FieldsTest(parameterized.TestCase):
  def test_defaults_and_inclusive_limits_are_accepted(self):
    self.assertEqual(_Config(), _Config(5, 8, 0.5, 0.0, 64, 'exact'))
    _Config(1, 0, 1.0, 0.0, 3, 'scann')
    _Config(10, 0, 0.0)

  @parameterized.parameters(
    ('num_read', 0, '`num_read` must be positive. Found num_read=0.'),
    ('num_searched', -1, '`num_searched` must not be negative.'),
    ('dropout_rate', 1.1, r'must be in \[0, 1\]. Found dropout_rate=1.1.'),
    ('dropout_rate', -0.1, r'must be in \[0, 1\].'),
    ('held_out', 1.0, r'must be in \[0, 1\)\.'),
    ('max_tokens', 2, '`max_tokens` must be above 2.'),
    ('searcher', 'x', "must be one of exact, scann. Found searcher='x'."),
    ('num_read', 11, r'^Too many. Found num_read=11.$'),
  )
  def test_a_value_out_of_bounds_is_refused(self, name, value, message):
    with self.assertRaisesRegex(ValueError, message):
      _Config(**{name: value})


if __name__ == '__main__':
  absltest.main()
