"""Fields of a config with their bounds, checked when the config is made.

@dataclasses.dataclass(frozen=True)
class C(fields.Checked):
batch_size: int = fields.positive(16)
objective: str = fields.one_of('marginal', 'hard_em')  # The first: default.
"""

from collections.abc import Callable
import dataclasses
from typing import Any


class Checked:
  """Base of all configs: raises ValueError for a value out of bounds."""

  def __post_init__(self):
    for field in dataclasses.fields(self):
      holds, must = field.metadata.get('bounds', (None, ''))
      if holds is not None:
        value = getattr(self, field.name)
        check(
          holds(value), f'`{field.name}` must {must}.', **{field.name: value}
        )
    self.check_together()

  def check_together(self):
    """Raises ValueError where one field's bounds depend on another field."""


def check(condition: bool, must_hold: str, **found):
  """Raises ValueError with what must hold and what was found."""
  if not condition:
    values = ', '.join(f'{name}={value!r}' for name, value in found.items())
    raise ValueError(f'{must_hold} Got {values}.')


def positive(default: Any) -> Any:
  """Returns a field above 0."""
  return _bounded(default, lambda value: value > 0, 'be positive')


def not_negative(default: Any) -> Any:
  """Returns a field of at least 0."""
  return _bounded(default, lambda value: value >= 0, 'not be negative')


def above(bound: Any, default: Any) -> Any:
  """Returns a field above `bound`."""
  return _bounded(default, lambda value: value > bound, f'be above {bound}')


def rate(default: float) -> Any:
  """Returns a field in [0, 1]."""
  return _bounded(default, lambda value: 0 <= value <= 1, 'be in [0, 1]')


def share_below_one(default: float) -> Any:
  """Returns a field in [0, 1)."""
  return _bounded(default, lambda value: 0 <= value < 1, 'be in [0, 1)')


def share_above_zero(default: float) -> Any:
  """Returns a field in (0, 1]."""
  return _bounded(default, lambda value: 0 < value <= 1, 'be in (0, 1]')


def one_of(default: str, *others: str) -> Any:
  """Returns a field that is one of some names; the first is its default."""
  names = (default, *others)
  text = ', '.join(map(repr, names[:-1])) + f' or {names[-1]!r}'
  return _bounded(default, lambda value: value in names, f'be {text}')


def _bounded(default: Any, holds: Callable[[Any], bool], must: str) -> Any:
  return dataclasses.field(default=default, metadata={'bounds': (holds, must)})
