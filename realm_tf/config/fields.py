"""Declares config fields with their bounds, and checks them when one is built.

@dataclasses.dataclass(frozen=True)
class SearchConfig(fields.Config):
  num_searched: int = fields.positive(50)
  searcher: str = fields.one_of('exact', 'scann')  # The first is the default.
"""

from collections.abc import Callable
import dataclasses
import math
from typing import Any, TypeVar

_T = TypeVar('_T')
_Number = TypeVar('_Number', int, float)
_LARGEST = 1 << 20  # Above all vocabularies, but a damaged file may have more.


def bounded(default: _T, bound: str, holds: Callable[[_T], bool]) -> _T:
  """Returns a field that "must `bound`"; `holds` tests a value."""
  return dataclasses.field(default=default, metadata={bound: holds})


def positive(default: _Number) -> _Number:
  """Returns a field for a number above 0."""
  return bounded(default, 'be positive', lambda value: value > 0)


def size(default: int, at_least: int = 1) -> int:
  """Returns a field for a size of a network, which the memory must hold."""
  return bounded(
    default,
    f'be in [{at_least}, {_LARGEST}]',
    lambda value: at_least <= value <= _LARGEST,
  )


def not_negative(default: _Number) -> _Number:
  """Returns a field for a number that is 0 or more."""
  return bounded(default, 'not be negative', lambda value: value >= 0)


def rate(default: float) -> float:
  """Returns a field for a share or a probability."""
  return bounded(default, 'be in [0, 1]', lambda value: 0 <= value <= 1)


def below_one(default: float) -> float:
  """Returns a field for a number in [0, 1)."""
  return bounded(default, 'be in [0, 1)', lambda value: 0 <= value < 1)


def above(low: int, default: int) -> int:
  """Returns a field for a number above `low`."""
  return bounded(default, f'be above {low}', lambda value: value > low)


def one_of(*values: str) -> str:
  """Returns a field for one of `values`; the first is the default."""
  return bounded(
    values[0], f'be one of {", ".join(values)}', lambda value: value in values
  )


def ids() -> str:
  """Returns a field for wordpiece ids with spaces between them, or none."""
  return bounded(
    '',
    'be ids with spaces between them',
    lambda value: all(part.isdecimal() for part in value.split(' ') if value),
  )


class Config:
  """Base of the configs: checks each field, then all together."""

  def __post_init__(self) -> None:
    for field in dataclasses.fields(self):  # type: ignore[arg-type]
      value = getattr(self, field.name)
      bounds = dict(field.metadata)
      if isinstance(value, float):
        bounds = {'be finite': math.isfinite, **bounds}
      for bound, holds in bounds.items():
        must_hold = f'`{field.name}` must {bound}.'
        check(holds(value), must_hold, **{field.name: value})
    self.check_together()

  def check_together(self) -> None:
    """Raises ValueError if fields contradict each other."""


def check(condition: bool, must_hold: str, **found: Any) -> None:
  """Raises ValueError, with `must_hold` and the values, unless `condition`."""
  if not condition:
    values = ', '.join(f'{name}={value!r}' for name, value in found.items())
    raise ValueError(f'{must_hold} Found {values}.')
