"""Tests for realm_tf.config.fields."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import config as config_lib
from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class _Config(fields.Checked):
  positive: int = fields.positive(1)
  not_negative: int = fields.not_negative(0)
  above: int = fields.above(2, 3)
  rate: float = fields.rate(0.5)
  share: float = fields.share_below_one(0.0)
  fraction: float = fields.share_above_zero(1.0)
  name: str = fields.one_of('first', 'second', 'third')
  free: int = -5

  def check_together(self):
    fields.check(
      self.positive <= self.above, '`positive` is too large.', above=self.above
    )


class FieldsTest(parameterized.TestCase):
  def test_defaults(self):
    self.assertEqual(_Config().name, 'first')
    self.assertEqual(_Config(), _Config(1, 0, 3, 0.5, 0.0, 1.0, 'first', -5))

  @parameterized.parameters(
    ({'positive': 0}, '`positive` must be positive. Got positive=0.'),
    ({'not_negative': -1}, '`not_negative` must not be negative.'),
    ({'above': 2}, '`above` must be above 2. Got above=2.'),
    ({'rate': 1.1}, '`rate` must be in [0, 1]. Got rate=1.1.'),
    ({'share': 1.0}, '`share` must be in [0, 1).'),
    ({'fraction': 0.0}, '`fraction` must be in (0, 1].'),
    (
      {'name': 'x'},
      "`name` must be 'first', 'second' or 'third'. Got name='x'.",
    ),
    ({'positive': 4}, '`positive` is too large. Got above=3.'),
  )
  def test_values_out_of_bounds(self, values, message):
    with self.assertRaises(ValueError) as caught:
      _Config(**values)
    self.assertIn(message, str(caught.exception))

  @parameterized.parameters(
    {'rate': 0.0}, {'rate': 1.0}, {'share': 0.99}, {'name': 'third'}
  )
  def test_bounds_belong_to_the_range_or_not(self, **values):
    self.assertIsNotNone(_Config(**values))

  def test_every_section_is_checked(self):
    for section in dataclasses.fields(config_lib.ExperimentConfig):
      if dataclasses.is_dataclass(section.default):
        self.assertIsInstance(section.default, fields.Checked)


if __name__ == '__main__':
  absltest.main()
